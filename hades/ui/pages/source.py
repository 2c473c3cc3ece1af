"""Ask."""
from __future__ import annotations
from hades.ui.controls import text
from hades.ui.frame import Frame, page

@page("/source", "Source", in_navigation=False)
async def ask(frame: Frame) -> None:
    text("Ask", "", "h1")
