"""Ids of papers on arXiv, as texts write them."""

from __future__ import annotations

import re

from hades.language.patterns import lazy_pattern

OLD_PAPER_ID = r"(?!submit/)[a-z-]+(?:\.[A-Z]{2})?/\d{7}"
# Ids that a table stored as numbers have lost zeros or gained digits, so any length is accepted.
_PAPER_ID = lazy_pattern(
    r"(?:arxiv:\s?|(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf|html)/)?"
    rf"(\d{{3,4}}\.\d{{1,20}}|{OLD_PAPER_ID})(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)


def paper_id(written: str) -> str | None:
    """Return an arXiv id without prefix and version; None if the text is not an arXiv id.

    >>> paper_id("math/0309136"), paper_id("arXiv:1706.03762v5")
    ('math/0309136', '1706.03762')
    >>> paper_id("https://arxiv.org/pdf/1706.03762.pdf"), paper_id("Attention")
    ('1706.03762', None)
    """
    match = _PAPER_ID.fullmatch(written.rstrip(".,;"))
    return match[1] if match else None
