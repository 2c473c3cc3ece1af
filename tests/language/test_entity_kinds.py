"""Kinds of named things, told by words around them."""

from __future__ import annotations

import pytest

from hades.language.english.entity_kinds import entity_kinds, kind_of_name, title_kind
from hades.language.english.kind_words import kind_words
from hades.language.english.proper_names import extract_names
from hades.models.extractor import load_extractor


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Zed Quill is a Danish film director.", "Zed Quill", "person"),
        ("Zed Quill (born 3 May 1950) sells boats.", "Zed Quill", "person"),
        ("Zed Quill ( 3 May 1850 – 4 June 1910) sold boats.", "Zed Quill", "person"),
        ("It was directed by Zed Quill and Ora Finch.", "Ora Finch", "person"),
        ("My neighbour Orrin has a boat.", "Orrin", "person"),
        ("Port Quillby is a small town in Denmark.", "Port Quillby", "place"),
        ("She was born in Quillby, Jutland.", "Jutland", "place"),
        ("Quill Boats, Inc. is a company that builds ferries.", "Quill Boats", "organisation"),
        ("He works at Quillworks.", "Quillworks", "organisation"),
        ('"Night Ferry" is a 1982 song by Zed Quill.', "Night Ferry", "work"),
        ("The Quill Cup is a sailing tournament.", "Quill Cup", "event"),
        ("QuillRank is a fast algorithm for ranking boats.", "QuillRank", "method"),
        ("The Quill 403 is a small car that was built in Oslo.", "Quill 403", "product"),
    ],
)
def test_a_sentence_tells_the_kind(text: str, name: str, kind: str) -> None:
    assert entity_kinds(text, extract_names(text))[name] == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Lake Como", "place"),
        ("University of Oslo", "organisation"),
        ("Battle of Hastings", "event"),
        ("Sir Quill Ora", "person"),
        ("Norway", "place"),
        ("South America", "place"),
        ("Quill Boat Transform", "method"),
        ("Prince Edward Island", "place"),
        ("Laws of Motion", ""),
        ("Lord of the Rings", ""),
        ("Quill", ""),
    ],
)
def test_a_name_tells_its_kind(name: str, kind: str) -> None:
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A Quill is a film award in Denmark.", "Quill"),
        ("The Danish Quill flew home.", "Danish"),
        ("The Quill Ring is a car racing course in Norway.", "Quill Ring"),
        ("Quill and Ora met the mayor.", "Quill"),
    ],
)
def test_what_no_rule_knows_stays_unknown(text: str, name: str) -> None:
    assert name not in entity_kinds(text, [name])


def test_a_title_has_the_kind_of_what_the_text_describes() -> None:
    assert title_kind("Venus (1929 film)", "") == "work"
    assert title_kind("Zed Quill", "Zedekiah Quill (born 1950) is a Danish painter.") == "person"
    assert title_kind("Venus (disambiguation)", "Venus is a planet.") == "concept"
    assert title_kind("Quill", "Boats are old. Ora is a painter.") == "concept"


def test_the_lists_are_small() -> None:
    assert len(kind_words().first_name) + len(kind_words().place) < 600


def test_the_extractor_gives_kinds() -> None:
    (names,) = load_extractor("names")(["We met Ann Moor in Norway. Zed Quill is a Danish poet."])
    assert dict(names)["Ann Moor"] == "person"
    assert dict(names)["Norway"] == "place"
    assert dict(names)["Zed Quill"] == "person"
