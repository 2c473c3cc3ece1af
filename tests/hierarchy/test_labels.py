"""Labels and summaries of clusters, from the texts that are most central in them."""

from __future__ import annotations

import numpy as np

from hades.hierarchy.labels import CentralText, ModelSummaries, described
from hades.models.encoder import load_encoder


def label_and_summary(*texts: tuple[str, str]) -> tuple[str, str]:
    central = [CentralText(f"{topic}@1#0", topic, text) for topic, text in texts]
    other = [CentralText("other@1#0", "other", "Something else is here.")]
    encoder = load_encoder()
    clusters = [central, other]
    centroids = [np.mean(encoder.encode([it.text for it in own]), axis=0) for own in clusters]
    return next(described(clusters, np.stack(centroids), encoder, ModelSummaries(None)))


def test_a_name_of_two_words_stays_together() -> None:
    label, summary = label_and_summary(
        ("knives", "Marta Lind sharpens knives."),
        ("lisbon", "The hotel was booked by Marta Lind."),
        ("choir", "In the choir Marta Lind sings alto."),
    )
    assert label == "Marta Lind"
    assert summary.count("Marta Lind") == 2


def test_addresses_are_in_no_label_and_no_summary() -> None:
    label, summary = label_and_summary(
        ("hash", "Hashing is fast. The code of hashing is at https://github.com/a/b today."),
        ("tables", "Tables use hashing. See https://github.com/c/d"),
        ("strings", "Strings need hashing. See https://github.com/e/f"),
    )
    assert "hash" in label
    assert "github" not in summary


def test_short_notes_have_a_summary_of_their_sentences() -> None:
    _, summary = label_and_summary(
        ("travel passport", "It expires in October."),
        ("travel hike", "Seven days with huts."),
        ("travel ferry", "Cabins are quieter above."),
    )
    assert set(summary.splitlines()) < {
        "It expires in October. [travel passport@1#0]",
        "Seven days with huts. [travel hike@1#0]",
        "Cabins are quieter above. [travel ferry@1#0]",
    }
