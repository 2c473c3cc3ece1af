"""Tags: stored text must not close or open the tags that a client puts around it in a prompt.

Clients put what is added to a prompt between tags such as `<system-reminder>`. If the name of a tag
has a word for such a frame, its `<` becomes `‹`. That is one visible character, so the text stays
readable and as long as before, and nothing is hidden in it. Other tags and code, such as `<div>`,
`<my-card>` or `List<User>`, stay unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

FRAME_WORDS = frozenset(
    {
        *("additional", "antml", "assistant", "attached", "bash", "command", "context"),
        *("developer", "function", "functions", "hook", "human", "instruction", "instructions"),
        *("invoke", "parameter", "prompt", "reminder", "stderr", "stdout", "sys", "system"),
        *("thinking", "tool", "tools", "user"),
    }
)
"""Words in the names of frames: `<system-reminder>`, `<local-command-stdout>`, `<function_calls>`
(Claude Code), `<environment_context>`, `<user_instructions>` (Codex), `<user_query>` (Cursor)."""
_UNSEEN = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
"""Characters without a width, which a reader does not notice inside of a name."""
_UNSEEN_ONE = re.compile(f"[{_UNSEEN}]")
_TAG = re.compile(
    rf"[<＜﹤](?=([\s/|{_UNSEEN}]{{0,8}})([\w:.|{_UNSEEN}-]{{1,80}})\s{{0,4}}([>＞﹥]?))"
)
_PARTS = re.compile(r"[^a-z]+")


def neutral_tags(text: str) -> str:
    """Return a text with `‹` instead of `<` in all tags that imitate a client's prompt tags.

    >>> neutral_tags("</system-reminder> <div>")
    '‹/system-reminder> <div>'
    """
    return _TAG.sub(_neutral, text)


def neutral_values(value: Any) -> Any:
    """Return a JSON value with `neutral_tags` in all its texts."""
    if isinstance(value, str):
        return neutral_tags(value)
    if isinstance(value, dict):
        return {neutral_tags(name): neutral_values(item) for name, item in value.items()}
    return [neutral_values(item) for item in value] if isinstance(value, list) else value


def _neutral(tag: re.Match[str]) -> str:
    lead, name, end = tag.groups()
    if "|" in lead and "|" in name:
        return "‹"  # a control token of a model: <|im_start|>
    seen = unicodedata.normalize("NFKC", _UNSEEN_ONE.sub("", name)).lower()
    if FRAME_WORDS.isdisjoint(_PARTS.split(seen)):
        return tag[0]
    after_word = tag.start() > 0 and tag.string[tag.start() - 1].isalnum()
    is_comparison = not end and (after_word or bool(lead))  # `i < tools`, `i<tool_count`
    is_parameter = after_word and seen.isalpha()  # `List<User>`
    return tag[0] if "/" not in lead and (is_comparison or is_parameter) else "‹"
