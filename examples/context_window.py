"""A conversation that is longer than the window: pressure, paging out, and finding it again.

Run it: python examples/context_window.py
"""

import tempfile
from pathlib import Path

import hades

TALK = [
    ("user", "The cellar pump is a Grundfos, bought in Leith for 340 pounds in March."),
    ("assistant", "Noted: a Grundfos pump, Leith, 340 pounds."),
    ("user", "The lamp burns colza oil. Ann trims the wick at six every evening."),
    ("assistant", "Colza oil, and Ann trims the wick at six."),
    ("user", "The boat is painted every second spring, last in 2025, by Ewan."),
    ("assistant", "Then Ewan paints it again in spring 2027."),
    ("user", "The fog horn has been silent since the compressor failed on Tuesday."),
    ("assistant", "The horn waits for a new compressor, then."),
    ("user", "What did the pump in the cellar cost?"),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        m.core_append("human", "Ann keeps the light house.")
        window = hades.ContextWindow(m, 220, name="conversation/monday", kept_turns=2)
        for role, text in TALK:
            window.say(role, text)
        for event in window.events:
            where = f"  -> {event.found_at}" if event.found_at else ""
            print(f"{event.kind:8} {event.what} ({event.tokens} tokens){where}")

        print(f"\nThe window, {window.tokens} of {window.limit} tokens:\n")
        print(window.render())

        tools = hades.MemGPT(m)
        found, *_ = tools.conversation_search("What did the pump cost?")
        print(f"Found again in {found.chunk.topic}.")
        window.page_in(found.chunk.id)
        assert "340 pounds" in window.render()
        assert window.tokens <= window.limit


if __name__ == "__main__":
    main()
