"""Sessions: summarise a conversation from its turns and the statements distilled from it."""

from __future__ import annotations

from hades.context.tokens import cut_words
from hades.domain.distilled import BINDING, SAID, SessionLine, SessionSummary
from hades.domain.times import NOW
from hades.domain.topics import State
from hades.errors import NotFound
from hades.language.english.small_talk import is_talk
from hades.language.said import ASSISTANTS
from hades.lifecycle.distil import turns_of
from hades.store.store import Store

GOAL_TOKENS = 40


def read_session(store: Store, space: int, state: State) -> SessionSummary:
    """Return the summary of a conversation; files and failed commands come from its metadata."""
    turns = turns_of(state)
    asked = (turn.text for turn in turns if turn.speaker.casefold() not in ASSISTANTS)
    goal = next((text for text in asked if not is_talk(text)), "")
    lines = []
    for topic, version, metadata in store.summaries.distilled(space, state.topic):
        try:
            latest = store.topics.state(space, topic, NOW)
            kept = store.topics.version(space, topic, version, NOW)
        except NotFound:  # forgotten since
            continue
        kind = next(iter(kept.tags), "fact")
        turn = metadata.get(SAID, {}).get("turn", 0)
        holds = latest.version == version
        lines.append(SessionLine(kind, kept.content, kept.id, turn, holds))
    planned = [line for line in lines if line.kind == "plan" and line.holds]
    return SessionSummary(
        conversation=state.topic,
        at=state.valid_from,
        turns=len(turns),
        goal=cut_words(" ".join(goal.split()), GOAL_TOKENS),
        decided=tuple(line for line in lines if line.kind in BINDING),
        done=tuple(line for line in lines if line.kind not in BINDING and line not in planned),
        open=tuple(planned),
        files=_texts(state, "files"),
        failed=_texts(state, "failed"),
    )


def _texts(state: State, name: str) -> tuple[str, ...]:
    """Return a list of texts from a state's metadata; () for anything else, since anybody may write
    metadata."""
    value = state.metadata.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else ()
