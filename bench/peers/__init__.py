"""Other systems, measured like HADES: `python -m bench compare`.

Each system is a small adapter with the same methods and runs in a process of its own. `sets` says
what is asked, `systems` and `graphs` have the adapters, `abilities` the scripted tests of time
travel, deletion and bridges, `measure` is the process that measures one system on one set.
"""
