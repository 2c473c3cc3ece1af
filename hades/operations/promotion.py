"""Upkeep of notes: promotion, suggestions, and the quality of a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hades.domain.promotion import Promotion, QualityReport, Suggestion
from hades.domain.rules import clean_name, clean_text
from hades.errors import Conflict, InvalidInput
from hades.language.words import words
from hades.operations.declare import Param, Role, operation
from hades.operations.indexing import catch_up
from hades.operations.inside import Inside
from hades.operations.parameters import ExpectVersion, Limit, ModelName, TopicName
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.lifecycle.suggest import TopicPairs

REASON_CHARACTERS_AT_MOST = 2_000


@operation("POST", "/promote/{topic}", role=Role.WRITER, command="promote")
def promote(
    inside: Inside,
    topic: TopicName,
    *,
    reason: Annotated[
        str,
        Param(
            "Why: what happened.",
            flag="--reason",
            example="Bug Y is fixed, so approach X is viable.",
            characters=REASON_CHARACTERS_AT_MOST,
        ),
    ],
    model: ModelName = None,
    expect_version: ExpectVersion = None,
    dry_run: Annotated[bool, Param("Only show what would be written.", flag="--dry-run")] = False,
) -> Promotion:
    """Rewrite a note from its versions, facts and neighbours.

    The new state says what holds, what held until when, and why. An edge to an obstacle is closed
    and its inverse opened if the reason or the note says by name that the obstacle is gone;
    otherwise that is proposed. Sources that disagree are named: the surer one wins, or else the
    later one; if neither differs enough, the disagreement waits for review. Without a model the
    sentences are those of the sources; with a model, only sentences that the sources support are
    kept. The metadata of the state name its sources. Promoting again without news changes nothing.
    """
    if not words(clean_text(reason, "reason")):
        raise InvalidInput("Say why: a promotion needs a reason.")
    if len(reason) > REASON_CHARACTERS_AT_MOST:
        most = f"at most {REASON_CHARACTERS_AT_MOST:,} characters"
        raise InvalidInput(f"A reason has {most}: say it shorter, or remember it as a note.")
    from hades.lifecycle.promote import Promoter, ask_model, gather
    from hades.models.checked import CheckedReply

    if (kind := inside.store.topics.kind(inside.space_id, topic)) not in (None, "note"):
        raise InvalidInput(f"{topic!r} is a {kind}: only notes can be promoted.")
    reply = CheckedReply()
    asked_of = ""
    by_model: list[tuple[str, str]] = []
    if model is not None:
        if inside.store.in_transaction:
            raise InvalidInput("Ask a model before or after a batch, not inside it.")
        gathered = gather(inside.store, inside.space_id, topic, reason)
        if gathered.is_news:
            asked_of = gathered.mark
            reply, by_model = ask_model(gathered, model, dry_run=dry_run)
    with inside.write("promote") as write:
        gathered = gather(inside.store, inside.space_id, topic, reason)
        version = gathered.latest.version
        if expect_version not in (None, version):
            now = f"The topic {topic!r} is at version {version}, not {expect_version}"
            raise Conflict(f"{now}: read it again, then promote it.")
        if asked_of not in ("", gathered.mark):
            raise Conflict(f"{topic!r} or one of its sources changed: promote it again.")
        if not gathered.is_news:
            write.cancelled = True
            by = str((gathered.latest.promotion or {}).get("by"))
            return Promotion(
                gathered.latest, gathered.latest, False, by, gathered.sources, gathered.edges
            )
        promoter = Promoter(inside.store, write, inside.space_id, inside.actor, gathered)
        done = promoter.run(reply, by_model, dry_run=dry_run)
        write.cancelled = dry_run
    return done


@operation("GET", "/suggestions", command="suggest", asks=True, long=True)
def suggest(
    inside: Inside,
    topic: Annotated[
        str | None,
        Param("Only suggestions for this topic.", example="design/approach_x", rule=clean_name),
    ] = None,
    limit: Limit = 20,
    on_progress: Progress | None = None,
) -> list[Suggestion]:
    """Suggest topics that should be linked, likeliest first.

    Signs are: one names the other, both mention a rare name, they are near in meaning, or a
    third topic is linked to both. `evidence` says which, and `command` would link them. The
    10,000 topics written last are compared.
    """
    catch_up(inside, on_progress, degrades=True)
    with inside.store.snapshot():
        number = None if topic is None else inside.store.topics.id(inside.space_id, topic)
        return _pairs(inside, on_progress).suggestions(number, limit)


@operation("GET", "/quality", command="quality", asks=True, long=True)
def quality(inside: Inside, on_progress: Progress | None = None) -> QualityReport:
    """Report orphans, contradictions, duplicates and the like.

    It also reports stale topics, facts that ended without a replacement, edges to what is gone,
    and a hierarchy that is out of date. Each kind has a count, examples and what to do. New notes
    are indexed first; the 10,000 topics written last are compared.
    """
    catch_up(inside, on_progress, degrades=True)
    from hades.lifecycle.quality import quality_report

    with inside.store.snapshot():
        pairs = _pairs(inside, on_progress)
        model = inside.finder.encoder.model
        return quality_report(inside.store, inside.space_id, inside.space, pairs, model)


def _pairs(inside: Inside, on_progress: Progress | None) -> TopicPairs:
    from hades.lifecycle.suggest import TopicPairs

    report = on_progress or (lambda _what, _done, _total: None)
    encoder = inside.finder.encoder
    return TopicPairs(inside.store, inside.space_id, inside.as_of, encoder, report)
