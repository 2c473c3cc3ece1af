"""The tools of a release: the audit finds secrets and licences, and an unready tree is refused."""

from __future__ import annotations

import sys
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import audit  # noqa: E402
import release  # noqa: E402

from tests.hooks.secrets_corpus import look_alikes, secrets  # noqa: E402


class _Package(Distribution):
    """A package that says only which licence it has."""

    def __init__(self, **headers: str) -> None:
        self._about = Message()
        for name, value in headers.items():
            self._about[name.replace("_", "-")] = value

    @property
    def metadata(self) -> Any:
        return self._about

    def read_text(self, filename: str) -> None:
        return None

    def locate_file(self, path: Any) -> Any:
        return path


@pytest.mark.parametrize(
    ("about", "licence", "allowed"),
    [
        ({"License_Expression": "MIT"}, "MIT", True),
        ({"License_Expression": "GPL-3.0-only"}, "GPL-3.0-only", False),
        ({"License_Expression": "MIT AND GPL-3.0-only"}, "MIT AND GPL-3.0-only", False),
        ({"License_Expression": "MIT OR GPL-3.0-only"}, "MIT OR GPL-3.0-only", True),
        ({"License": "BSD"}, "BSD-3-Clause", True),
        ({"License": "GNU General Public License (GPL)"}, "GPL-2.0-or-later", False),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, "MIT", True),
        ({"Classifier": "Topic :: Database"}, "unknown", False),
        ({"License": "All rights reserved"}, "unknown", False),
    ],
)
def test_a_licence_is_read_and_judged(about: dict[str, str], licence: str, allowed: bool) -> None:
    found = audit.licence_of(_Package(**about))
    assert (found, audit.is_allowed(found)) == (licence, allowed)


def test_the_core_needs_only_allowed_licences() -> None:
    core = audit.needed(set())
    assert {"httpx", "numpy", "pydantic"} <= set(core)
    assert [name for name, one in core.items() if not audit.is_allowed(audit.licence_of(one))] == []


def test_the_scan_finds_keys_and_leaves_examples() -> None:
    keys = [text for text, value in secrets() if len(value) > 30 and "\n" not in text]
    missed = [text for text in keys if not audit.has_secret(text)]
    assert len(missed) < 0.1 * len(keys), missed
    assert not any(map(audit.has_secret, look_alikes()))
    assert audit.has_secret("-----BEGIN RSA PRIVATE KEY-----")
    assert not audit.has_secret('password = "correct horse"')


def test_an_unready_tree_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {("status", "--porcelain"): " M README.md", ("tag", "--list", "v9.9"): "v9.9"}
    monkeypatch.setattr(release, "git", lambda *words: said.get(words, ""))
    found = "\n".join(release.problems("9.9", tagging=True))
    for problem in ("has changes", "not a version", "__init__", "CHANGELOG", "released_making"):
        assert problem in found
    assert "the tag v9.9 exists" in found
