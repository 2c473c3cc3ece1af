"""The client: a memory behind a server, with the methods of `Memory`.

`hades.open("http://host:8674")` or `hades.open("unix:///run/hades/rw.sock")` gives a
`Client`, which is a `Memory` to whoever uses it. Nothing here decides anything: arguments
are checked by the rules the memory itself has, sent, and what comes back is rebuilt.
"""
