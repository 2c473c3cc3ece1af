"""Sentences that a summary keeps first: decisions, numbers and things that were done."""

from __future__ import annotations

import re

from hades.language.english.lexicon import changes
from hades.language.patterns import lazy_pattern

DECISION = lazy_pattern(rf"(?<!nothing )(?<!not )\b(?:{changes('decided')})\b", re.IGNORECASE)
NOTABLE = lazy_pattern(rf"\d|\b(?:{changes('notable')})\b", re.IGNORECASE)
