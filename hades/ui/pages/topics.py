"""Topics."""
from __future__ import annotations
from hades.ui.controls import text
from hades.ui.frame import Frame, page

@page("/topics", "Topics")
async def topics(frame: Frame) -> None:
    text("Topics", "", "h1")
    for topic in await frame.call("topics", limit=20):
        text(topic.name, "", "p")
