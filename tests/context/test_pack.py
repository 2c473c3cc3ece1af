"""A context within a hard budget, with the strongest where it is read best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from making import LIKELY, SPRING, passage, path

import hades
from hades.context.pack import LEDGER_TOKENS_AT_MOST, PATH_TOKENS_AT_MOST, Packed, pack
from hades.context.tokens import count, cut, cut_words
from hades.domain.quoting import indented
from hades.models.encoder import count_tokens


def packed(
    passages: Sequence[hades.Passage] = (),
    paths: Sequence[hades.Path] = (),
    *,
    question: str = "Why was it rejected?",
    budget: int = 1_000,
    passages_at_most: int = 20,
    paths_at_most: int = 20,
) -> Packed:
    return pack(
        question,
        passages,
        paths,
        budget=budget,
        passages_at_most=passages_at_most,
        paths_at_most=paths_at_most,
    )


def test_question_paths_passages() -> None:
    found = packed(
        [passage("Rejected: it corrupts data.", "design/x", heading="Decision", line=3)],
        [path("design/x", "Bug Y", reliability=0.4), path("Bug Y", "data", reliability=0.7)],
    )
    assert found.context == (
        "Question: Why was it rejected?\n\n"
        "Paths:\n"
        "(P2) 0.40: design/x --[leads_to]--> Bug Y\n"
        "(P1) 0.70: Bug Y --[leads_to]--> data\n\n"
        "Passages:\n\n"
        "[1] design/x@2, line 3, 2024-03-01 · Decision\n"
        " Rejected: it corrupts data."
    )
    assert found.tokens == count_tokens([found.context])[0]
    assert found.diagnostics == ()
    one, first, second = found.citations
    assert (one.number, one.kind, one.nodes) == (1, "passage", ("design/x@2#0",))
    assert (one.topic, one.version, one.line, one.end_line) == ("design/x", 2, 3, 3)
    assert (first.number, first.kind, first.nodes) == (1, "path", ("Bug Y", "data"))
    assert (second.number, second.nodes) == (2, ("design/x", "Bug Y"))
    assert [p.reliability for p in found.paths] == [0.7, 0.4]


def test_a_passage_that_was_counted_too_low_once_is_counted_again() -> None:
    long = passage("x" * 3_000)
    found = packed([replace(long, chunk=replace(long.chunk, tokens=1))], budget=200)
    assert found.tokens == count([found.context])[0] <= 200


def test_the_best_passages_stand_at_both_ends() -> None:
    found = packed([passage(f"text {n}", f"t{n}") for n in range(1, 7)])
    heads = [line[:3] for line in found.context.splitlines() if line.startswith("[")]
    assert heads == ["[1]", "[3]", "[5]", "[6]", "[4]", "[2]"]
    assert [p.chunk.topic for p in found.passages] == ["t1", "t2", "t3", "t4", "t5", "t6"]


def test_the_least_reliable_goes_first_and_a_note_says_so() -> None:
    passages = [passage(f"Sentence {n} about caches. " * 10, f"t{n}") for n in range(5)]
    found = packed(passages, budget=120)
    assert found.passages[0].chunk.topic == "t0"
    assert len(found.passages) < 5
    assert any(note.reason is hades.Reason.EVICTED for note in found.diagnostics)
    assert found.tokens <= 120


def test_a_passage_larger_than_the_budget_is_cut_at_a_sentence() -> None:
    text = "\n".join(f"Sentence number {n} is about caches." for n in range(100))
    found = packed([passage(text, line=10)], budget=100)
    shown = found.context.split("\n", 5)[-1]
    assert indented(text).startswith(shown)
    assert shown.endswith("caches.")
    assert found.diagnostics[0].reason is hades.Reason.BUDGET_EXHAUSTED
    assert found.citations[0].end_line == 10 + shown.count("\n")
    assert found.passages[0].chunk.text == text


ODD = st.text(alphabet="[1] ax@9,·\n\r\x0b\x0c\x1c\x85\u2028\u2029", max_size=40)


@given(st.lists(ODD, max_size=4))
def test_only_our_lines_begin_at_the_margin(texts: list[str]) -> None:
    found = packed([passage(text, "ax") for text in texts if text.strip()])
    lines = found.context.split("Passages:")[-1].splitlines() if found.passages else []
    at_the_margin = [line for line in lines if line and not line.startswith(" ")]
    assert len(at_the_margin) == len(found.passages)
    assert found.tokens == count_tokens([found.context])[0]


def test_a_name_cannot_pass_for_a_whole_head() -> None:
    found = packed([passage("x", "policy/payments@9, line 3, 2024-01-01 · Official")])
    assert '[1] "policy/payments@9, line 3, 2024-01-01 · Official"@' in found.context


def test_caps_are_kept_and_told() -> None:
    paths = [path("a", f"b{n}", reliability=n / 10) for n in range(6)]
    found = packed([passage("x")] * 4, paths, passages_at_most=2, paths_at_most=3)
    assert len(found.passages) == 2
    assert [p.reliability for p in found.paths] == [0.5, 0.4, 0.3]
    assert [n.reason for n in found.diagnostics] == [hades.Reason.CAP_EXCEEDED] * 2


def test_a_path_has_its_own_limit_and_all_paths_theirs() -> None:
    wordy = path("a", "b", snippet="words " * 300)
    endless = path(*(f"some rather long name {n}" for n in range(40)), reliability=0.9)
    found = packed([], [wordy, endless, *(path("c", f"d{n}") for n in range(40))], paths_at_most=50)
    lines = [line for line in found.context.splitlines() if line.startswith("(P")]
    assert max(count_tokens(lines)) <= PATH_TOKENS_AT_MOST
    assert sum(count_tokens(lines)) <= LEDGER_TOKENS_AT_MOST
    assert lines[-1].endswith("…")
    assert "words words" not in found.context
    assert any(note.reason is hades.Reason.EVICTED for note in found.diagnostics)


def test_one_path_is_shown_once() -> None:
    assert len(packed([], [path("a", "b")] * 3).paths) == 1


def test_a_question_that_is_a_text_is_cut() -> None:
    found = packed([passage("The answer.")], question="Who is it? " * 2_000, budget=200)
    assert found.diagnostics[0].reason is hades.Reason.CUT_QUESTION
    assert "The answer." in found.context
    assert found.tokens <= 200


def test_no_budget_is_too_small_to_be_kept() -> None:
    """A question, facts and paths may each have their share, and more than all of it together."""
    ends = hades.Node("topic", "bug y"), hades.Node("topic", "design x")
    edge = hades.Edge(1, ends[0], "stops", ends[1], 1.0, SPRING, None, SPRING)
    facts = [hades.Fact(edge, "Bug Y stops it.", 0.9, LIKELY)] * 40
    paths = [path("bug y", f"design {number}", reliability=0.9) for number in range(20)]
    for budget in range(0, 400, 7):
        found = pack(
            "Why was it rejected in the end? " * 20,
            [passage("The frost was a reason.")],
            paths,
            budget=budget,
            passages_at_most=20,
            paths_at_most=20,
            facts=facts,
        )
        assert count([found.context])[0] == found.tokens <= budget


TEXT = st.text(st.sampled_from("ab é東. \n…🙂x"), max_size=300)
LONG = st.builds(lambda text, times: text * times, TEXT, st.integers(1, 30))


@given(
    question=LONG,
    texts=st.lists(LONG, max_size=6),
    names=st.lists(st.lists(TEXT, min_size=1, max_size=5), max_size=5),
    budget=st.integers(0, 400),
)
def test_the_budget_is_never_exceeded(
    question: str, texts: list[str], names: list[list[str]], budget: int
) -> None:
    passages = [passage(text, topic=text[:50] or "t", heading=text[:9]) for text in texts]
    paths = [path(*row, reliability=len(row) / 9, snippet=row[0]) for row in names]
    found, again = (
        pack(
            question,
            passages,
            list(order),
            budget=budget,
            passages_at_most=4,
            paths_at_most=3,
        )
        for order in (paths, reversed(paths))
    )
    assert count([found.context])[0] == found.tokens <= budget
    assert replace(found, paths=()) == replace(again, paths=())  # in whatever order they came
    cited = [(c.kind, c.number) for c in found.citations]
    assert cited == [("passage", n + 1) for n in range(len(found.passages))] + [
        ("path", n + 1) for n in range(len(found.paths))
    ]
    if len(found.passages) < len(passages) or len(found.paths) < len(set(map(str, paths))):
        assert found.diagnostics


@given(LONG, st.integers(0, 60))
def test_a_cut_text_is_a_beginning_that_fits(text: str, at_most: int) -> None:
    for shorten in (cut, cut_words):
        kept = shorten(text, at_most)
        assert count([kept])[0] <= at_most
        assert kept == text or text.startswith(kept.removesuffix("…").removesuffix(" "))


@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from(["\n", "\n\n", " "]))
def test_the_built_in_tokenizer_never_looks_across_white_space(
    parts: list[str], space: str
) -> None:
    assert count([space.join(parts)])[0] == sum(count(parts))


def test_every_theme_is_named_within_the_ledger() -> None:
    themes = [
        hades.Theme(
            hades.Cluster(f"c_{n}", 2, "bread, dough, flour, oven", "Bread needs flour. " * 9, 7),
            0.1,
        )
        for n in range(8)
    ]
    packed = pack("?", [], [], budget=5_000, passages_at_most=5, paths_at_most=0, themes=themes)
    assert packed.themes == tuple(themes)
    assert packed.tokens <= 300 + count(["Question: ?"])[0] + 20
    assert [cite.kind for cite in packed.citations] == ["theme"] * 8
