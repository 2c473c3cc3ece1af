"""The client: a memory behind a server, with the methods of `Memory`.

`hades.open("http://host:8674")` or `hades.open("unix:///run/hades/rw.sock")` gives a
`Client`, which is a `Memory`. The client checks arguments by the rules of the memory, sends
them, and rebuilds the result; the server decides everything else.
"""
