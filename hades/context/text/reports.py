"""The plain text of upkeep: promotions, extractions, summaries, clusters, proposals, problems."""

from __future__ import annotations

from collections.abc import Sequence

from hades.context.text.edges import edge_line
from hades.context.text.layout import (
    PlainText,
    TextBody,
    TextLine,
    flat,
    moment,
    shown_cite,
    writes,
)
from hades.context.text.states import state_lines
from hades.domain.answer import Usage
from hades.domain.extraction import Extraction
from hades.domain.hierarchy import (
    HIGH,
    Cluster,
    ClusterReport,
    Hierarchy,
    HierarchyReport,
    Organisation,
)
from hades.domain.plain import counted
from hades.domain.promotion import Promotion, QualityReport
from hades.domain.proposal import Proposal
from hades.domain.summaries import Consolidation
from hades.store.records import Problem

BEGINNING_CHARACTERS = 100


def beginning(text: str) -> str:
    """Return the first BEGINNING_CHARACTERS of a text, on one line."""
    return flat(text)[:BEGINNING_CHARACTERS]


@writes(Promotion)
def promotion_lines(done: Promotion) -> PlainText:
    """Show the new state, then the changed edges, the conflicts, and how it was made."""
    would = "would be " if done.dry_run else ""
    if not done.changed:
        yield TextLine(f"no news: {done.state.id} stays as it is")
        return
    yield from state_lines(done.state)
    for word, edges in (("closed", done.closed), ("opened", done.opened)):
        yield from (edge_line(edge, f"{would}{word}") for edge in edges)
    for conflict in done.conflicts:
        yield TextLine(f"conflict: {flat(str(conflict))}", style="warning")
    if done.proposed:
        yield TextLine(f"{len(done.proposed)} {would}put up for `hades review`")
    used = f", {flat(str(done.usage))}" if done.usage else ""
    dropped = f", {done.dropped} unsupported sentences dropped" if done.dropped else ""
    why = f" ({flat(done.why)})" if done.why else ""
    sources = counted(len(done.sources), "source")
    yield TextLine(f"{done.by}{why}: {sources}{dropped}{used}", style="quiet")


@writes(QualityReport)
def quality_lines(report: QualityReport) -> PlainText:
    """List the findings by kind, with examples and advice."""
    yield TextLine(f"{report.topics:,} topics in {report.space}, {report.compared:,} compared")
    if report.unindexed:
        yield TextLine(f"{report.unindexed:,} states are not indexed yet", style="warning")
    for finding in report.findings:
        yield TextLine(f"{finding.count:>6,}  {finding.what}", style="head")
        yield from (TextLine(f"        {flat(example)}") for example in finding.examples)
        if finding.count:
            yield TextLine(f"        to do: {finding.advice}", style="quiet")


@writes(Extraction)
def extraction_lines(extraction: Extraction) -> PlainText:
    """List the facts that were read, the outcome of each, and the failures."""
    would = "would be " if extraction.dry_run else ""
    done = {name: f"{would}{name}" for name in ("applied", "proposed", "ended", "refused")}
    for fact in extraction.facts:
        stated = f"{'not ' if fact.negated else ''}{fact.subject} {fact.relation} {fact.object}"
        since = f", since {fact.valid_from:%Y-%m-%d}" if fact.valid_from.year > 1 else ""
        until = f", until {fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
        outcome = done.get(fact.outcome, fact.outcome)
        yield TextLine(stated + since + until, (f"{outcome}, {fact.source}",))
    counts = ", ".join(f"{n} {done.get(what, what)}" for what, n in extraction.outcomes.items())
    is_estimate = extraction.dry_run and extraction.usage
    done_so = "would be sent to the model" if is_estimate else f"read: {counts or 'no facts'}"
    yield TextLine(f"{counted(extraction.states, 'state')} {done_so}")
    if extraction.failed:
        refused = extraction.outcomes.get("refused", 0)
        of = sum(extraction.outcomes.values()) + extraction.failed - refused
        first = flat(extraction.failures[0])
        yield TextLine(f"failed: {extraction.failed} of {of}, first: {first}", style="warning")
    yield from _usage(extraction.usage, dry_run=extraction.dry_run)


@writes(Consolidation)
def consolidation_lines(done: Consolidation) -> PlainText:
    """List the summaries that were, or would be, made."""
    would = "would be " if done.dry_run else ""
    for summary in done.made:
        why = f" ({summary.why})" if summary.why else ""
        details = f"of {summary.states} states, {summary.tokens} tokens, {summary.by}{why}"
        yield TextLine(f"{would}made {summary.topic} {details}")
    for topic, why in done.skipped:
        yield TextLine(f"skipped {topic}: {flat(why)}", style="warning")
    counts = f"{len(done.made)} {would}made, {done.unchanged} unchanged"
    yield TextLine(f"{counts}: {done.why}" if done.why else counts)
    yield from _usage(done.usage, dry_run=done.dry_run)


def _usage(usage: Usage | None, *, dry_run: bool) -> PlainText:
    if usage is not None:
        yield TextLine(f"{'would take at most, ' * dry_run}{flat(str(usage))}", style="quiet")


@writes(Organisation)
def organisation_lines(done: Organisation) -> PlainText:
    """Say which hierarchy holds now, and what making it took."""
    if done.hierarchy is not None:
        yield TextLine(_hierarchy(done.hierarchy), style="head")
        if done.hierarchy.skipped:
            passages = counted(done.hierarchy.skipped, "passage")
            advice = f"left out: {passages} with damaged vectors; run `hades reembed`"
            yield TextLine(advice, style="warning")
    made = "would be made" if done.dry_run else "made" if done.made else "unchanged"
    yield TextLine(f"{made}{f': {flat(done.why)}' if done.why else ''}")
    if done.peak_mb:
        yield TextLine(f"{done.seconds:g} s, {done.peak_mb:,} MB of memory at most", style="quiet")
    yield from _usage(done.usage, dry_run=done.dry_run)


@writes(HierarchyReport)
def hierarchy_lines(report: HierarchyReport) -> PlainText:
    """Show the tree of clusters, whether organising is due, and the earlier hierarchies."""
    if report.current is None:
        yield TextLine("there is no hierarchy: run `hades organise`")
    else:
        yield TextLine(_hierarchy(report.current), style="head")
        if (drift := report.current.drift) is not None:
            near = f"mean nearness to the centroid {report.current.nearness:.3g}"
            near += f", of those that joined {drift.nearness:.3g}" if drift.joined else ""
            since = f"since then {counted(drift.joined, 'passage')} joined and {drift.gone:,} went"
            yield TextLine(f"{since}; {near}", style="quiet")
            if drift.due:
                yield TextLine(f"due: {flat(drift.due)}; run `hades organise`", style="warning")
    for group in (cluster for cluster in report.clusters if cluster.level == HIGH):
        yield _cluster_line(group)
        children = (cluster for cluster in report.clusters if cluster.parent == group.id)
        yield from (_cluster_line(cluster, "  ") for cluster in children)
    for earlier in report.history:
        until = f", until {moment(earlier.until)}" if earlier.until else ", current"
        yield TextLine(f"{_hierarchy(earlier)}{until}")


@writes(ClusterReport)
def cluster_lines(report: ClusterReport) -> PlainText:
    """Show a cluster with its summary, then parts, neighbours and members."""
    yield TextLine(str(_cluster_line(report.cluster)), style="head")
    if report.cluster.parent:
        yield TextLine(f"part of {report.cluster.parent}", style="quiet")
    if report.cluster.summary:
        yield TextBody(report.cluster.summary)
    for word, clusters in (("parts", report.children), ("near", report.siblings)):
        if clusters:
            yield TextLine(f"{word}:")
            yield from (_cluster_line(cluster, "  ") for cluster in clusters)
    if report.members:
        yield TextLine("members:")
    for member in report.members:
        since = f"{member.nearness:.3f}, since {moment(member.since)}"
        since += f" until {moment(member.until)}" if member.until else ""
        since += f", before in {member.previous}" if member.previous else ""
        yield TextLine(f"  {shown_cite(member.cite)}", (since,))


def _hierarchy(hierarchy: Hierarchy) -> str:
    sizes = f"{counted(hierarchy.chunks, 'passage')}, {counted(hierarchy.clusters, 'cluster')} "
    sizes += f"of level 1, {hierarchy.groups:,} of level 2"
    back = f", restored from {hierarchy.restored_from}" if hierarchy.restored_from else ""
    name = f"hierarchy {hierarchy.id}: " if hierarchy.id else ""
    made = f"{moment(hierarchy.made_at)}, seed {hierarchy.seed}, summaries {hierarchy.by}{back}"
    return f"{name}{sizes}; {made}"


def _cluster_line(cluster: Cluster, indent: str = "") -> TextLine:
    label = flat(cluster.label) or "(label purged)"
    return TextLine(f"{indent}{cluster.id}  {label}", (counted(cluster.size, "passage"),))


@writes(list[Proposal])
def proposal_lines(proposals: Sequence[Proposal]) -> PlainText:
    """List proposals: number, status and change, then confidence, author, time and reason."""
    for proposal in proposals:
        yield TextLine(f"{proposal.id}  {proposal.status}  {_proposed(proposal)}", style="head")
        decided = proposal.decided_by
        by = proposal.by if decided in (None, proposal.by) else f"{proposal.by}, {decided}"
        sure = f"sure {proposal.confidence:g} of {proposal.threshold:g}"
        yield TextLine(f"   {sure}, by {by}, {moment(proposal.at)}", style="quiet")
        evidence = str(proposal.fields.get("evidence") or "")
        for reason in (proposal.why, "" if evidence in proposal.why else evidence):
            if reason:
                yield TextLine(f"   {flat(reason)}")
    if not proposals:
        yield TextLine("nothing waits for approval")


def _proposed(proposal: Proposal) -> str:
    """Say what is proposed, on one line."""
    fields = proposal.fields
    if proposal.kind == "remember":
        return f"{fields['topic']}: {beginning(fields['content'])}"
    if proposal.kind in ("relate", "unrelate"):
        ends = f"{fields['source']} --[{fields['relation']}]--> {fields['target']}"
        if proposal.kind == "unrelate":
            return f"end {ends}, {fields['at'][:10]}"
        return ends + (f", since {fields['valid_from'][:10]}" if fields.get("valid_from") else "")
    return f"{fields['name']}, {proposal.kind} {fields[proposal.kind]}"


@writes(list[Problem])
def problem_lines(problems: Sequence[Problem]) -> PlainText:
    """List what is damaged, and how to repair it."""
    for problem in problems:
        yield TextLine(f"{problem.where}: {problem.what}", style="removed")
        yield TextLine(f"  to repair: {problem.repair}")
    if not problems:
        yield TextLine("everything is as it should be")
