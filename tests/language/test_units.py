"""Documents cut into the parts that can answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.language.units import UNITS_AT_MOST, Unit, plain_markup, units

GUIDE = """# Install

You need two things:

- `curl` 7.0 or **newer**,
  with TLS
- [git](https://example.org/git)

Run this command:

```sh
make install
```

| Option | Default | Description |
|---|---|---|
| `--jobs` | 4 | How many run at once. |
| `--quiet` |  | Says nothing. |

The first start takes a minute. Later ones
are quick.
"""


def test_each_kind_of_part_is_a_unit_with_what_introduces_it() -> None:
    assert units(GUIDE) == (
        Unit("curl 7.0 or newer, with TLS", "You need two things:"),
        Unit("git", "You need two things:"),
        Unit("make install", "Run this command:", is_code=True),
        Unit("Option: --jobs; Default: 4; Description: How many run at once."),
        Unit("Option: --quiet; Description: Says nothing."),
        Unit("The first start takes a minute."),
        Unit("Later ones are quick."),
    )


def test_a_description_keeps_its_term() -> None:
    text = "`--follow`\n    List the history beyond renames. Works for one file.\n"
    assert [unit.told for unit in units(text)] == [
        "--follow: List the history beyond renames.",
        "--follow: Works for one file.",
    ]


@pytest.mark.parametrize(
    "turn", ["Ana Lima: I moved. To Porto.", "**Ana Lima:** I moved. To Porto."]
)
def test_every_sentence_of_a_turn_keeps_its_speaker(turn: str) -> None:
    assert [unit.told for unit in units(turn)] == ["Ana Lima: I moved.", "Ana Lima: To Porto."]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("See [the guide](a.md#x), **now**.", "See the guide, now."),
        ("Set :setting:`DEBUG` or :ref:`this one <there>`.", "Set DEBUG or this one."),
        ("Use ``-v`` and `-q`; 2 * 3 * 4 stays.", "Use -v and -q; 2 * 3 * 4 stays."),
        ("linkgit:git-log[1] and link:x.html[the list]", "git-log and the list"),
    ],
)
def test_marks_of_the_format_are_taken_out(written: str, said: str) -> None:
    assert plain_markup(written) == said


@given(st.text(alphabet="ab|-`#*:.\n \t[]()<>=+~0_", max_size=400))
def test_any_text_gives_a_bounded_number_of_units_with_letters(text: str) -> None:
    found = units(text)
    assert len(found) <= UNITS_AT_MOST
    assert all(any(map(str.isalnum, unit.text)) for unit in found)
