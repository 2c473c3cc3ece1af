"""Labels and summaries of clusters, from the texts that are most central in them."""

from __future__ import annotations

from hades.hierarchy.labels import CentralText, ModelSummaries, described


def label_and_summary(*texts: tuple[str, str]) -> tuple[str, str]:
    central = [CentralText(f"{topic}@1#0", topic, text) for topic, text in texts]
    other = [CentralText("other@1#0", "other", "Something else is here.")]
    return next(described([central, other], ModelSummaries(None)))


def test_a_name_of_two_words_stays_together() -> None:
    label, summary = label_and_summary(
        ("knives", "Marta Lind sharpens knives."),
        ("lisbon", "The hotel was booked by Marta Lind."),
        ("choir", "In the choir Marta Lind sings alto."),
    )
    assert label == "marta lind"
    assert "[knives@1#0]" in summary


def test_addresses_are_in_no_label_and_no_summary() -> None:
    label, summary = label_and_summary(
        ("hash", "Hashing is fast. The code of hashing is at https://github.com/a/b today."),
        ("tables", "Tables use hashing. See https://github.com/c/d"),
        ("strings", "Strings need hashing. See https://github.com/e/f"),
    )
    assert label == "hashing"
    assert "github" not in summary


def test_without_a_telling_word_the_most_central_sentences_are_the_summary() -> None:
    label, summary = label_and_summary(
        ("travel passport", "It expires in October."),
        ("travel hike", "Seven days with huts."),
        ("travel ferry", "Cabins are quieter above."),
    )
    assert label == "travel"
    assert summary.splitlines() == [
        "It expires in October. [travel passport@1#0]",
        "Seven days with huts. [travel hike@1#0]",
        "Cabins are quieter above. [travel ferry@1#0]",
    ]
