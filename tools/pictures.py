"""Make the pictures of the documentation: `make pictures`, or `python tools/pictures.py`.

A real browser visits a real server over the example memory of the tests. The result is in
docs/images: some pictures of pages, and one of the time slider that moves.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from hades.serve.auth.caller import Role  # noqa: E402
from tests.ui.browsing import Site, chromium, explored, move_slider  # noqa: E402
from tests.ui.example_memory import remember_boat  # noqa: E402

FOLDER = ROOT / "docs" / "images"
QUESTION = "Which motor do we choose?"
ASKED = "/?q=Which%20motor%20do%20we%20choose%3F"
PAGES = {
    "ask": (ASKED, 1280, 860, False),
    "topic": ("/topic?name=motor/choice", 1280, 640, False),
    "graph": ("/graph?name=Marlene&hops=2", 1280, 860, True),
    "map": ("/map", 1280, 760, False),
    "phone": (f"{ASKED}&at=2025-12-01T00:00:00Z", 390, 844, True),
}
"""The address, the width and height of the window, and whether it is dark."""
COLOURS = 128
BYTES_AT_MOST, MOVING_BYTES_AT_MOST = 150_000, 1_500_000
STOPS = (0.2, 0.07, 0.34, 1.0)
"""Where the slider rests, as shares of the memory's life; each has another answer."""
STEPS, STEP_MS, REST_MS, TYPE_MS = 8, 90, 3_400, 60


def main() -> None:
    """Make all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        explored(Path(folder), browser, remember_boat) as site,
    ):
        for name, (path, width, height, dark) in PAGES.items():
            with site.visit(Role.WRITER, width=width, dark=dark) as page:
                page.set_viewport_size({"width": width, "height": height})
                site.open_whole(page, path)
                page.wait_for_timeout(1_500)  # a graph comes to rest
                _keep(page, name)
        with site.visit(Role.READER) as page:
            _moving(site, page)
    for path in sorted(FOLDER.iterdir()):
        size, most = path.stat().st_size, BYTES_AT_MOST
        most = MOVING_BYTES_AT_MOST if path.suffix == ".webp" else most
        print(f"{path.relative_to(ROOT)}: {size // 1000} kB")
        if size > most:
            sys.exit(f"{path.name} is larger than {most // 1000} kB.")


def _shot(page: Any) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def _keep(page: Any, name: str) -> None:
    _shot(page).quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)


def _moving(site: Site, page: Any) -> None:
    """Ask a question and move the slider; the answer changes with it."""
    page.set_viewport_size({"width": 960, "height": 560})
    site.open_whole(page, "/")
    frames: list[tuple[Image.Image, int]] = [(_shot(page), 600)]
    for letters in range(4, len(QUESTION) + 4, 4):
        page.get_by_label("Your question").fill(QUESTION[:letters])
        frames.append((_shot(page), 4 * TYPE_MS))
    page.keyboard.press("Enter")
    _rest(page, frames)
    now = 1.0
    for stop in STOPS:
        for step in range(1, STEPS + 1):
            _drag(page, now + (stop - now) * step / STEPS)
            frames.append((_shot(page), STEP_MS))
        move_slider(page, stop)
        _rest(page, frames)
        now = stop
    first, *others = [frame for frame, _ in frames]
    first.save(
        FOLDER / "time-slider.webp",
        save_all=True,
        append_images=others,
        duration=[ms for _, ms in frames],
        loop=0,
        quality=70,
        method=4,
    )
    print(f"{len(frames)} frames, {sum(ms for _, ms in frames) / 1000:.1f} s")


def _drag(page: Any, share: float) -> None:
    """Show the slider under way, before it is let go."""
    slider = page.get_by_role("slider", name="Time")
    slider.evaluate("(it, share) => { it.value = share * it.max }", share)


def _rest(page: Any, frames: list[tuple[Image.Image, int]]) -> None:
    page.wait_for_timeout(400)
    page.locator("#content:not([aria-busy])").get_by_role("region", name="Answer").wait_for()
    frames.append((_shot(page), REST_MS))


if __name__ == "__main__":
    main()
