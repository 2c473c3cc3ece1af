"""The theme: colours, spacing and type of all pages, light and dark, as one style sheet."""

from __future__ import annotations

from pathlib import Path

CSS = (Path(__file__).parent / "theme.css").read_text(encoding="utf-8")
