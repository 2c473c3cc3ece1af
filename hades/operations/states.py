"""States: the versions of a topic, and the list of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hades.domain.compare import compare
from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_note,
    clean_share,
    clean_tags,
)
from hades.domain.times import NOW, iso
from hades.domain.topics import Chunk, Diff, State, Topic
from hades.errors import InvalidInput, NotFound, Refused
from hades.lifecycle import fact_changes
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    NUMBER_AT_MOST,
    PATTERN,
    Confidence,
    Content,
    ExpectVersion,
    Glob,
    Importance,
    Metadata,
    Name,
    PageLimit,
    Since,
    Tag,
    Tags,
    TopicKind,
    TopicName,
    Until,
    ValidFrom,
    Version,
    whole_number,
)
from hades.operations.proposals import list_refused
from hades.store.records import Draft, TopicFilter

if TYPE_CHECKING:
    from hades.lifecycle.similar_notes import CurrentNote

FoundTopic = Annotated[
    str, Param("The topic, such as design/approach_x.", example="design/approach_x")
]
"""A topic to read, without a rule: a name that no topic can have is reported as not found."""
AfterVersion = Annotated[
    int, whole_number("Only versions after this one.", "version", flag="--after")
]


@operation("GET", "/states/{topic}", timed=True, own_route=True)
def get(inside: Inside, topic: FoundTopic, version: Version = None) -> State:
    """Return the state of a topic: now, as of a time, or one version.

    The end of a file's path, or a symbol of code, is enough if unambiguous.
    """
    if not isinstance(topic, str):
        clean_name(topic)
    topics = inside.store.topics
    space = inside.space_id
    try:
        if version is not None:
            return topics.version(space, topic, version, inside.as_of)
        return topics.state(space, topic, inside.as_of)
    except NotFound as missing:
        try:
            meant = inside.meant_topic(topic)
        except InvalidInput:
            raise missing from None
        if meant == topic:
            raise
    return get(inside, meant, version)


@operation(
    "GET",
    "/history/{topic}",
    command="history",
    timed=True,
    cursor=lambda state: [state.version],
)
def history(
    inside: Inside, topic: TopicName, *, after: AfterVersion = 0, limit: PageLimit = None
) -> list[State]:
    """List every version of a topic, in order of writing.

    The topic is found as by `get`. `limit` and `after` (the version of the last one seen) page
    through a long history.
    """
    with inside.store.snapshot():
        topic = inside.meant_topic(topic)
        states = list(inside.store.topics.history(inside.space_id, topic, inside.as_of))
    if not states:
        raise NotFound(f"There is no topic {topic!r} at that time.")
    later = [state for state in states if state.version > after]
    return later if limit is None else later[:limit]


@operation("GET", "/diff/{topic}", command="diff", timed=True)
def diff(
    inside: Inside,
    topic: FoundTopic,
    before: Annotated[
        int | None, Param("The earlier version.", least=1, most=NUMBER_AT_MOST)
    ] = None,
    after: Annotated[int | None, Param("The later version.", least=1, most=NUMBER_AT_MOST)] = None,
) -> Diff:
    """Show what changed between two versions of a topic.

    By default `after` is the current version, and `before` the version before `after`.
    """
    after = get(inside, topic).version if after is None else after
    before = max(after - 1, 1) if before is None else before
    return compare(get(inside, topic, before), get(inside, topic, after))


@operation(
    "GET",
    "/topics",
    command="topics",
    timed=True,
    cursor=lambda topic: [topic.name],
    needs_space=True,
)
def topics(
    inside: Inside,
    glob: Glob = None,
    *,
    tag: Tag = None,
    kind: TopicKind = None,
    since: Since = None,
    until: Until = None,
    after: Annotated[
        str | None, Param("Only names after this one.", flag="--after", rule=PATTERN)
    ] = None,
    limit: PageLimit = None,
    latest: Annotated[
        bool, Param("The latest first, instead of by name.", flag="--latest")
    ] = False,
    preview: Annotated[
        bool, Param("Also return the beginning of each text.", flag="--preview")
    ] = False,
) -> list[Topic]:
    """List topics by name, or the latest first.

    `glob` (such as `design/*`), `tag` and `kind` choose topics; `since` and `until` bound the time
    from which the state is true; `after` (the last name seen) and `limit` page through a long list.
    """
    wanted = TopicFilter(
        glob=glob,
        tag=tag,
        kind=kind,
        since=inside.time(since),
        until=inside.time(until),
        after=after,
        limit=limit,
        latest=latest,
        preview=preview,
    )
    return inside.store.topics.list(inside.space_id, wanted, inside.as_of)


@operation("GET", "/chunks/{topic}", command="chunks", timed=True)
def chunks(inside: Inside, topic: FoundTopic, version: Version = None) -> list[Chunk]:
    """List the passages of a topic; none until it is indexed."""
    state = get(inside, topic, version)
    return inside.store.chunks.chunks(inside.space_id, state.topic, state.version)


REMEMBERED_KINDS = ("note", "document", "conversation")


@operation("PUT", "/states/{topic}", role=Role.WRITER, own_route=True)
def remember(
    inside: Inside,
    topic: TopicName,
    content: Content,
    *,
    tags: Tags = None,
    metadata: Metadata = None,
    confidence: Confidence = None,
    importance: Importance = None,
    valid_from: ValidFrom = None,
    expect_version: ExpectVersion = None,
    kind: Annotated[
        str | None,
        Param(
            "note: adds to what it said before; document, conversation: replaces it.",
            flag="--kind",
            choices=REMEMBERED_KINDS,
        ),
    ] = None,
    gate: Annotated[bool, Param("Refuse text that says nothing new.", flag="--gate")] = False,
    apply_from: Annotated[
        float,
        Param(
            "The confidence from which facts of your own notes change without review.",
            flag="--apply-from",
            least=0,
        ),
    ] = DEFAULT_THRESHOLD,
) -> State:
    """Store what is known about a topic as a new version.

    Tags, metadata and importance carry over from the last state unless given. The same state again
    adds no version. The text is true since `valid_from` (default: now). With `expect_version`,
    raise Conflict if another writer was first (0: the topic must be new). A new version of a `note`
    adds to it: what the old version says still holds and is found. A new version of a `document` or
    `conversation` replaces it. A topic is a note by default. If a note says that its topic is
    fixed, done or gone, ending what it blocked is proposed (`proposals`). If it contradicts an edge
    or another note, that change is proposed too. Facts extracted from notes of the same author
    change at once if the change is at least as sure as `apply_from`. With `gate`, small talk, text
    that your current notes already say and output of HADES are Refused and listed for review.
    """
    draft = Draft(
        content=(clean_note if kind in (None, "note") else clean_content)(content),
        tags=clean_tags(tags),
        metadata=clean_metadata(metadata),
        confidence=clean_share(confidence, "confidence"),
        importance=clean_share(importance, "importance"),
        valid_from=inside.time(valid_from),
        expect_version=expect_version,
    )
    if kind is not None and kind not in REMEMBERED_KINDS:
        raise InvalidInput(f"The kind must be {' or '.join(REMEMBERED_KINDS)}, not {kind!r}.")
    sure = clean_share(apply_from, "apply_from")
    similar = _similar_notes(inside, topic, content, gate) if kind != "document" else []
    if gate and kind != "document":
        _require_news(inside, topic, draft, similar)
    with inside.write("remember") as write:
        state, appended = inside.store.topics.add(write, inside.space_id, topic, draft)
        changed = kind and inside.store.topics.set_kind(write, inside.space_id, topic, kind)
        write.cancelled = not appended and not changed
        if appended or changed:
            from hades.lifecycle import review

            review.review(
                inside.store,
                write,
                inside.space_id,
                state,
                inside.actor,
                similar=similar,
                threshold=DEFAULT_THRESHOLD if sure is None else sure,
            )
    return state


def _similar_notes(inside: Inside, topic: str, content: str, gate: bool) -> list[CurrentNote]:
    """Return the notes to compare a new note with; [] if there is nothing to compare."""
    from hades.language.english.contradiction import is_statement
    from hades.lifecycle.similar_notes import sentences_of, similar_notes

    stated = [sentence for sentence in sentences_of(content) if gate or is_statement(sentence)]
    if not stated or inside.store.topics.kind(inside.space_id, topic) not in (None, "note"):
        return []
    return similar_notes(inside.store, inside.space_id, stated)


def _require_news(inside: Inside, topic: str, draft: Draft, similar: list[CurrentNote]) -> None:
    """If a text says nothing new, list it for review and raise Refused."""
    from hades.lifecycle.gate import refusal

    if not (why := refusal(topic, draft, inside.actor, similar)):
        return
    names = ("tags", "metadata", "importance", "confidence", "valid_from")
    given = {name: getattr(draft, name) for name in names if getattr(draft, name) is not None}
    if draft.valid_from is not None:
        given["valid_from"] = iso(draft.valid_from)
    error = Refused(
        f"Not remembered in {topic!r}: {why}. To keep it all the same, send it without the gate "
        "(gate: false), or approve it: `hades review list --status refused`.",
        {"topic": topic, "content": draft.content, **given},
        why,
    )
    list_refused(inside, error)
    raise error


@operation("DELETE", "/states/{topic}", role=Role.WRITER, command="forget", own_route=True)
def forget(inside: Inside, topic: TopicName) -> State:
    """Mark a topic and its edges as gone; history is kept."""
    with inside.write("forget") as write:
        from hades.lifecycle.gate import reconsider

        state, _ = inside.store.topics.add(write, inside.space_id, topic, Draft(content=None))
        reconsider(inside.store, write, inside.space_id, topic, inside.actor)
        for node in inside.store.entities.own_nodes(inside.space_id, topic):
            fact_changes.end_edges_of(inside.store, write, inside.space_id, node, state.valid_from)
        return state


@operation("POST", "/withdraw/{topic}", role=Role.WRITER)
def withdraw(
    inside: Inside,
    topic: TopicName,
    version: Annotated[
        int, whole_number("The version to take back.", "version", least=1, example=2)
    ],
) -> State:
    """Take back the last version of a topic, as if it had not been written.

    What held before it holds again, at every time: its state is written anew from the time at which
    the version began, or the topic is forgotten from then on. Views of a known time still show the
    version. Edges stay as they are. Raise Conflict if there is a later version.
    """
    with inside.write("withdraw") as write:
        from hades.lifecycle.gate import reconsider

        state = get(inside, topic, version)
        earlier = (
            before
            for before in inside.store.topics.history(inside.space_id, topic, NOW)
            if before.version < state.version and before.valid_from <= state.valid_from
        )
        before = max(earlier, key=lambda it: (it.valid_from, it.version), default=None)
        holds = before is not None and not before.forgotten
        kept = ("content", "tags", "metadata", "confidence", "importance", "level")
        values = {name: getattr(before, name) for name in kept} if holds else {"content": None}
        draft = Draft(**values, valid_from=state.valid_from, expect_version=state.version)
        state, _ = inside.store.topics.add(write, inside.space_id, topic, draft)
        reconsider(inside.store, write, inside.space_id, topic, inside.actor)
        return state


@operation(
    "POST",
    "/purge",
    role=Role.ADMIN,
    command="purge",
    confirm="Erase {name!r} and all its history for good?",
)
def purge(inside: Inside, name: Name) -> dict[str, int]:
    """Erase a topic or entity with its whole history.

    Everything derived from it is erased too. The file is rewritten, so it takes as long as
    copying the file. The result counts the erased rows of each kind. `wiped` is 1 if no trace is
    left; it is 0 inside a batch, which wipes the file at its end, and if that cannot be done now
    (another process reads, the disk is full, an index cannot be removed). Then `check` names it,
    and the next opening for writing, the next purge or `repair` does it. Names merged with this
    one stay.
    """
    gone: dict[str, int] = {}
    try:
        with inside.write("purge") as write:
            gone = inside.store.purge(write, inside.space_id, name)
    except NotFound:
        if inside.store.in_transaction or not inside.store.owed():
            raise
    return {**gone, "wiped": int(inside.finish_owed())}
