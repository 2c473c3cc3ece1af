"""The explorer: web pages over the memory that `hades serve` serves, written with NiceGUI.

`gate.py` lets visitors in, `calls.py` is the only way from a page to the memory, `frame.py` is
around every page, and `pages/` has one module per page.
"""
