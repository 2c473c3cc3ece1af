"""The write gate: what says nothing new is not stored as new knowledge.

Empty talk, what current notes say already in the same words, and a context of HADES that is
fed back. A number, date, name or negation that is new always passes: a sentence counts as said
only if each of its words was said, in one sentence and in this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hades.domain.contradiction import is_about_one_thing, says
from hades.domain.names import words
from hades.lifecycle.current import CurrentNote, sentences_of

TALK_CHARACTERS_AT_MOST = 200
_TALK = frozenset(
    """hi hello hey hiya thanks thank thx ty you u so very much many a lot ok okay k sure great good
    cool nice fine perfect awesome excellent wonderful lovely super right alright all welcome bye
    goodbye see later soon cheers please got it understood noted will do sounds that s is this the
    i ll let me know no problem worries np morning afternoon evening night day have how are today
    again there for your the help helping haha lol hmm mhm wow oh ah um well then appreciate much
    appreciated glad happy to anytime of course absolutely definitely agreed makes sense roger
    re thing everyone team folks friend take care talk speak catch nothing add else""".split()  # noqa: SIM905
)
"""Words of greetings, thanks and acknowledgements. `yes` and `done` are answers, not talk."""
_NO_TALK = re.compile(r"\b(?:not|never|no(?! (?:problem|worries)))\b|n['’]t\b", re.IGNORECASE)
_HEAD = re.compile(r"\[\d{1,4}\] .{1,400}@\d+, lines? \d")
_TITLES = ("Question: ", "Facts:", "Paths:", "Passages:", "[F", "(P")


def nothing_new(topic: str, text: str, similar: Iterable[CurrentNote]) -> str:
    """Why a text says nothing new, as the end of a sentence; empty: it may be stored."""
    if is_talk(text):
        return "it is empty talk"
    if is_context(text):
        return "it is a context that HADES made"
    own = sentences_of(text)
    said: dict[str, None] = {}
    for sentence in own:
        note = next((one for one in similar if _says(one, topic, sentence, own)), None)
        if note is None:
            return ""
        said[note.id] = None
    return f"{', '.join(said)} says it already" if said else ""


def is_talk(text: str) -> bool:
    """Whether a text is nothing but greetings, thanks and acknowledgements."""
    if len(text) > TALK_CHARACTERS_AT_MOST or _NO_TALK.search(text):
        return False
    found = words(text.casefold())
    return bool(found) and all(word in _TALK for word in found)


def is_context(text: str) -> bool:
    """Whether every line is one that HADES writes into a context: a head, a title, or indented."""
    heads = 0
    for line in text.splitlines():
        if _HEAD.match(line):
            heads += 1
        elif line.strip() and line[0] != " " and not line.startswith(_TITLES):
            return False
    return heads > 0


def _says(note: CurrentNote, topic: str, sentence: str, own: Sequence[str]) -> bool:
    """Whether a note says a sentence already, of the same thing.

    Of its own topic a new version counts as said only if it leaves nothing out.
    """
    if not any(says(one, sentence) for one in note.sentences):
        return False
    if note.topic == topic:
        return all(any(says(new, old) for new in own) for old in note.sentences)
    return is_about_one_thing(sentence, topic, note.topic)
