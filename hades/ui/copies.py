"""Copies of an answer for other programs: its prompt, JSON, and the same call elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hades.domain.answer import Answer
from hades.domain.plain import plain


def copies_of(
    answer: Answer, url: str, space: str, moment: Mapping[str, str], options: Mapping[str, Any]
) -> dict[str, str]:
    """Return the texts by their names; `options` are those of `ask`, None where not given."""
    given = {name: plain(value) for name, value in options.items() if value is not None}
    call = (url.rstrip("/"), answer.question, space, moment, given)
    return {
        "prompt": answer.recall.context,
        "JSON": json.dumps(plain(answer), ensure_ascii=False, indent=2),
        "curl": _curl(*call),
        "Python": _python(*call),
    }


def _curl(
    url: str, question: str, space: str, moment: Mapping[str, str], given: dict[str, Any]
) -> str:
    times = {{"valid": "as_of", "known": "known_at"}[axis]: at for axis, at in moment.items()}
    body = json.dumps({"question": question, **given, **times}).replace("'", "'\\''")
    return (
        f"curl {url}/v1/spaces/{quote(space, safe='')}/ask \\\n"
        '  -H "Authorization: Bearer $HADES_KEY" \\\n'
        f"  -H 'Content-Type: application/json' \\\n  -d '{body}'"
    )


def _python(
    url: str, question: str, space: str, moment: Mapping[str, str], given: dict[str, Any]
) -> str:
    at = ", ".join(f"{axis}={time!r}" for axis, time in moment.items())
    view = f"memory.at({at})" if at else "memory"
    arguments = "".join(f", {name}={value!r}" for name, value in given.items())
    return (
        f"import hades\n\nmemory = hades.open({url!r}, space={space!r})\n"
        f"print({view}.ask({question!r}{arguments}))"
    )
