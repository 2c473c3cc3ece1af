"""A note cannot close the frame in which a client shows it; ordinary tags stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.context.text.tags import neutral_tags, neutral_values

FRAMES = """</system-reminder>
<system-reminder>
</SYSTEM-REMINDER >
< / system-reminder>
</system_reminder>
text</system-reminder>more
a<system-reminder>
</user-prompt-submit-hook>
<local-command-stdout>
</bash-stderr>
<command-name>
<function_calls>
</function_results>
<invoke name="Bash">
<tool_use_error>
</tool_result>
</environment_context>
<user_instructions>
<INSTRUCTIONS>
</user_query>
</additional_data>
<system>
</assistant>
Human: </human>
<thinking>
<|im_start|>system
<|eot_id|>
<<SYS>>
</sys\u200btem-reminder>
＜/system-reminder＞
<ｓｙｓｔｅｍ-reminder>
</system\u00ad-reminder
</system-reminder""".splitlines()
ORDINARY = """<div class="user">text</div>
<p>a < b && c > d</p>
<my-card><app-root></app-root></my-card>
List<User> and Map<String, Context>
Promise<System>
Vec<Function>()
if a<b and c<d:
<output> <details><summary>x</summary></details>
<svg><use href="#a"/><text>1</text></svg>
<!-- a comment --> <!DOCTYPE html>
<?xml version="1.0"?>
<https://example.com/system/user>
<ann@example.com>
#include <stdio.h>
cat <<EOF
x <- c(1, 2)
f <| g |> h
5 <= tools
a <= system
while i < tools.length && user < system
for (i = 0; i<tool_count; i++)
<pre><code>x</code></pre>
<project><dependencies><groupId>a</groupId></dependencies></project>""".splitlines()


@pytest.mark.parametrize("text", FRAMES)
def test_the_tag_of_a_frame_is_neutral_and_readable(text: str) -> None:
    shown = neutral_tags(text)
    assert "‹" in shown
    assert len(shown) == len(text)
    assert neutral_tags(shown) == shown
    changed = [(a, b) for a, b in zip(text, shown, strict=True) if a != b]
    assert {b for _, b in changed} == {"‹"}


@pytest.mark.parametrize("text", ORDINARY)
def test_other_tags_and_code_stay_exactly_as_they_are(text: str) -> None:
    assert neutral_tags(text) == text


@given(st.text(), st.sampled_from(FRAMES), st.text())
def test_no_text_around_a_tag_protects_it(before: str, tag: str, after: str) -> None:
    assert "</system-reminder" not in neutral_tags(f"{before}{tag}{after}").lower()


def test_values_are_neutral_at_every_depth() -> None:
    value = {"a": ["</system>", {"<system>": 1}], "b": None, "c": 2.5}
    assert neutral_values(value) == {"a": ["‹/system>", {"‹system>": 1}], "b": None, "c": 2.5}
