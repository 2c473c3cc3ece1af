"""Ten conversations over fifteen notes: a question that names nothing is about the one before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hades

NOTES = {
    "bike/loan": "Lent the cargo bike to Jonas for moving his piano, back on Sunday.",
    "bike/service": "The cargo bike got new brake pads at Velo Nord, 84 euros.",
    "tools/drill": "Borrowed the hammer drill from Frau Seidel to put up the bookshelf. "
    "Return it by Friday.",
    "garden/shed": "The shed roof leaks at the north corner. Piet fixes it in May for 300 euros.",
    "garden/pond": "Dug the pond in April. It is 80 cm deep and holds three goldfish.",
    "kitchen/oven": "The oven trips the fuse. The electrician Marek comes on Tuesday at 9.",
    "health/knee": "Physio for the knee every Wednesday with Dr. Lohse, because of the torn "
    "meniscus.",
    "work/report": "The annual report goes to Ines for review. It is due on 3 June.",
    "work/printer": "The printer on floor 2 is replaced because the fuser broke; Omar ordered a "
    "Brother.",
    "choir/concert": "The choir sings Rutter in St. Anna on 24 May. Tickets cost 12 euros.",
    "trip/lisbon": "Flight to Lisbon on 7 August, booked with TAP for 212 euros. We stay at "
    "Rosa's flat in Alfama.",
    "car/insurance": "The car is insured with Allianz until December, 480 euros a year.",
    "pets/cat": "Miso had her teeth cleaned at the vet in Holm, which cost 190 euros. She must "
    "not eat dry food for a week.",
    "school/lena": "Lena's class trip goes to the Harz in September. Her teacher is Herr Brandt.",
    "house/heating": "The heating engineer checked the boiler and wants to swap the pump, because "
    "it rattles.",
}
CONVERSATIONS = [
    (
        "Who has the cargo bike?",
        [("What was it for?", "piano"), ("And when is it back?", "Sunday")],
    ),
    ("Whose hammer drill do I have?", [("What did I need it for?", "bookshelf")]),
    (
        "What is wrong with the shed?",
        [("How much does that cost?", "300"), ("Who does it?", "Piet")],
    ),
    ("When is the physio?", [("Why do I go there?", "meniscus")]),
    ("Which printer did Omar order?", [("Why was that necessary?", "fuser")]),
    ("What does the choir sing?", [("Where?", "St. Anna"), ("What is a ticket?", "12 euros")]),
    ("When do we fly to Lisbon?", [("What did it cost?", "212"), ("Where do we stay?", "Rosa")]),
    ("What was done to Miso's teeth?", [("What must she not eat?", "dry food")]),
    ("What does the engineer want to swap?", [("Why?", "rattles")]),
    ("Who has the cargo bike?", [("How deep is the pond?", "80 cm"), ("And the oven?", "fuse")]),
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    with hades.open(tmp_path_factory.mktemp("conversations") / "notes.hades") as memory:
        for topic, text in NOTES.items():
            memory.remember(topic, text)
        yield memory


@pytest.mark.parametrize("answers", [False, True], ids=["questions", "answers too"])
@pytest.mark.parametrize(("question", "following"), CONVERSATIONS)
def test_a_follow_up_is_answered(
    notes: hades.Memory, question: str, following: list[tuple[str, str]], answers: bool
) -> None:
    turns = [question, str(notes.ask(question))] if answers else [question]
    for asked, expected in following:
        answer = notes.ask(asked, turns=turns)
        assert expected in answer.sentences[0].text
        turns += [asked, str(answer)] if answers else [asked]


def test_a_follow_up_says_how_it_was_read(notes: hades.Memory) -> None:
    turns = ["Who has the cargo bike?", "Jonas.", "What was it for?", "His piano."]
    reasons = notes.recall("And when is it back?", turns=turns).reasons
    said = [note.detail for note in reasons if note.reason is hades.Reason.FOLLOW_UP]
    assert said[0] == "read as “And when is it back? (Who has the cargo bike)”"
