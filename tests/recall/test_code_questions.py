"""Questions about code that edges answer: completely, with places, and within the budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hades
from hades.errors import NotFound

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "shop/__init__.py": "from shop.basket import Basket\n",
    "shop/prices.py": "def net_price(item):\n    return round_up(item)\n\n\n"
    "def round_up(item):\n    return item\n",
    "shop/basket.py": "from shop.prices import net_price\n\n\n"
    "class Basket:\n    def total_sum(self):\n        return net_price(1)\n\n\n"
    "class GiftBasket(Basket):\n    def send(self):\n        return self.total_sum()\n",
    "shop/mail.py": "class Mail:\n    def send(self):\n        return 1\n",
    "tests/test_prices.py": "from shop.prices import net_price\n\n\n"
    "def test_net_price():\n    assert net_price(1) == 1\n",
    "docs/guide.md": "# Guide\n\nA price without tax is what `net_price` gives.\n\n"
    "## Mail\n\nNothing is sent.\n",
    "CHANGES.md": "# Changes\n\n## 1.1\n\nAdded `net_price`.\n",
}


@pytest.fixture
def shop(tmp_path: Path, memory: hades.Memory) -> hades.Memory:
    for name, text in FILES.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    memory.ingest(tmp_path / "shop")
    return memory


def test_postgresql_finds_the_same(postgres: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def load_all():\n    read_one()\n\n\ndef read_one(): ...\n")
    with hades.open(postgres) as memory:
        memory.ingest(tmp_path / "a.py")
        found = memory.ask("What calls read_one?")
        assert [one.text for one in found.sentences] == ["a.load_all calls a.read_one (a.py:2)"]
        assert memory.edges("load_all", relation="calls", direction="out")


CALLERS = [
    "shop.basket.Basket.total_sum calls shop.prices.net_price (shop/shop/basket.py:6)",
    "tests.test_prices.test_net_price calls shop.prices.net_price (shop/tests/test_prices.py:5)",
]
TESTS = [CALLERS[1], "shop/tests/test_prices.py:1 imports shop.prices.net_price"]
IMPORTERS = ["shop/shop/basket.py:1 imports shop.prices", TESTS[1].removesuffix(".net_price")]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What calls net_price?", CALLERS),
        ("Which functions call `shop.prices.net_price()`?", CALLERS),
        ("list all callers of net_price", CALLERS),
        ("Where is prices.net_price called?", CALLERS),
        ("who calls the function net_price in the prices module", CALLERS),
        ("What does Basket.total_sum call?", CALLERS[:1]),
        ("Which tests cover net_price?", TESTS),
        ("How is net_price tested?", TESTS),
        ("Which files import shop.prices?", IMPORTERS),
        (
            "What does shop/basket.py import?",
            [IMPORTERS[0], "shop/shop/basket.py:1 imports shop.prices.net_price"],
        ),
        (
            "Where is round_up defined?",
            ["shop.prices.round_up is defined in shop/shop/prices.py:5"],
        ),
        ("Where is shop.Basket?", ["shop.basket.Basket is defined in shop/shop/basket.py:4"]),
        (
            "Which classes inherit from Basket?",
            ["shop.basket.GiftBasket extends shop.basket.Basket (shop/shop/basket.py:9)"],
        ),
        (
            "What does the documentation say about net_price?",
            [
                "A price without tax is what `net_price` gives. (shop/docs/guide.md:3)",
                "Added `net_price`. (shop/CHANGES.md:5)",
            ],
        ),
        (
            "What would break if I rename round_up?",
            ["shop.prices.net_price calls shop.prices.round_up (shop/shop/prices.py:2)"],
        ),
    ],
)
def test_edges_answer_completely(shop: hades.Memory, question: str, expected: list[str]) -> None:
    found = shop.ask(question)
    assert [one.text for one in found.sentences] == expected
    assert {one.label for one in found.sentences} >= {"[F1]"}
    assert found.recall.intent is hades.Intent.RELATION


def test_the_passages_of_the_callers_come_first(shop: hades.Memory) -> None:
    found = shop.recall("What calls net_price?")
    assert [one.chunk.topic for one in found.passages[:2]] == [
        "shop/shop/basket.py",
        "shop/tests/test_prices.py",
    ]
    assert found.asked.evidence == "`calls` edges to shop.prices.net_price"
    assert CALLERS[0] in found.context
    assert shop.rank("What calls net_price?", 1)[0].chunk.topic == "shop/shop/basket.py"


def test_all_that_bear_a_short_name_are_told(shop: hades.Memory) -> None:
    found = shop.ask("Where is send defined?")
    assert [one.text for one in found.sentences] == [
        "shop.basket.GiftBasket.send is defined in shop/shop/basket.py:10",
        "shop.mail.Mail.send is defined in shop/shop/mail.py:2",
    ]
    assert len(shop.ask("Where is Mail.send defined?").sentences) == 1
    assert len(shop.ask("Where is the method send of Mail defined?").sentences) == 1


def test_told_edges_count_for_all_that_bear_a_short_name(shop: hades.Memory) -> None:
    for symbol in ("shop.basket.GiftBasket.send", "shop.mail.Mail.send"):
        shop.relate("nightly job", "calls", symbol)
    texts = " ".join(sentence.text for sentence in shop.ask("What calls send?").sentences)
    assert "shop.basket.GiftBasket.send" in texts
    assert "shop.mail.Mail.send" in texts


def test_what_does_not_fit_is_told_with_how_to_read_it(shop: hades.Memory) -> None:
    found = shop.recall("What calls net_price?", plan={"facts": 1})
    assert len(found.facts) == 1
    told = [note.detail for note in found.reasons if note.reason is hades.Reason.BUDGET_EXHAUSTED]
    assert told == [
        "1 of 2 edges; all: `hades edges shop.prices.net_price --relation calls --direction in`"
    ]
    small = shop.recall("What calls net_price?", budget=60)
    assert small.tokens <= 60


def test_filters_hold_for_edges(shop: hades.Memory) -> None:
    found = shop.ask("What calls net_price?", glob="shop/tests/*")
    assert [one.text for one in found.sentences] == CALLERS[1:]


def test_a_thing_without_such_edges_is_said_to_have_none(shop: hades.Memory) -> None:
    found = shop.ask("What calls GiftBasket.send?")
    assert str(found) == "There are no `calls` edges to shop.basket.GiftBasket.send."


@pytest.mark.parametrize(
    "question",
    [
        "Who uses the gym?",
        "Where is the price defined?",
        "What calls for a party?",
        "Who calls Ann?",
    ],
)
def test_other_questions_stay_what_they_are(shop: hades.Memory, question: str) -> None:
    assert shop.recall(question).intent is not hades.Intent.RELATION


def test_identifiers_in_notes_are_no_code(memory: hades.Memory) -> None:
    memory.remember("server/db_main", "db_main stands in rack 4. It runs backup_job.")
    for question in ("Where is db_main?", "What calls backup_job?", "What uses db_main?"):
        assert memory.ask(question).sentences
        assert memory.recall(question).intent is not hades.Intent.RELATION


def test_edges_take_short_names_and_ends_of_paths(shop: hades.Memory) -> None:
    assert shop.edges("Mail.send") == shop.edges("shop.mail.Mail.send")
    assert shop.edges("mail.py") == shop.edges("shop/shop/mail.py")
    with pytest.raises(NotFound, match="may mean 2 things: shop"):
        shop.edges("send")
    with pytest.raises(NotFound, match="no topic"):  # what is written needs the whole name
        shop.unrelate("Mail.send", "calls")


def test_prose_leads_to_code_in_one_step(shop: hades.Memory) -> None:
    way = shop.paths("docs/guide.md", "net_price")[0]
    assert way.told(snippets=False) == "shop/docs/guide.md --[documents]--> shop.prices.net_price"
    near = shop.neighbours("net_price", relation="documents", hops=2)
    assert {one.hops for one in near if one.node.name == "shop/docs/guide.md@1#0"} == {1}


def test_spellings_of_a_paper_are_one_node(tmp_path: Path, memory: hades.Memory) -> None:
    papers = [
        {
            "id": "2401.00001",
            "title": "Graphs that remember",
            "abstract": "See arXiv:2402.00002v3.",
        },
        {"id": "2402.00002v1", "title": "Walking far", "abstract": "We walk."},
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, papers)))
    (tmp_path / "n.md").write_text(
        "# Note\n\nRead https://arxiv.org/abs/2403.00003v2, arXiv:2403.00003 and 2403.00003v1.\n"
    )
    memory.ingest(tmp_path)
    cited = "Graphs that remember --[cites]--> Walking far"
    for name in ("2401.00001v9", "arXiv:2401.00001", "http://arxiv.org/pdf/2401.00001.pdf"):
        assert [str(one) for one in memory.edges(name, relation="cites")] == [cited]
    assert [str(one) for one in memory.edges("arxiv/2401.00001", relation="cites")] == [cited]
    assert str(memory.paths("arxiv/2401.00001", "arxiv/2402.00002")[0]).startswith(
        "arxiv/2401.00001 --[cites;"
    )
    assert [one.name for one in memory.entities() if "2403" in one.name] == ["2403.00003"]
    answer = memory.ask("Which papers cite arXiv:2402.00002v2?")
    assert "Graphs that remember cites Walking far (arxiv/2401.00001:3)" in str(answer)


@pytest.mark.parametrize(
    "question",
    ["what does " * 5_000, "which tests " * 24 + "x", "where is " * 33, "what is x " * 29],
)
def test_a_question_of_many_beginnings_is_read_at_once(shop: hades.Memory, question: str) -> None:
    assert shop.recall(question).intent is not hades.Intent.RELATION


def test_code_that_only_names_a_symbol_is_told_last(tmp_path: Path, memory: hades.Memory) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "lid.py").write_text("class Lid:\n    def unseal(self, how):\n        return how\n")
    (folder / "use.py").write_text(
        "def open_all(lids):\n    return [lid.unseal(1) for lid in lids]\n"
    )
    (folder / "note.md").write_text("# Lid\n\nA Lid is unsealed by hand.\n")
    memory.ingest(folder)
    told = [fact.text for fact in memory.recall("What calls Lid.unseal?").facts]
    assert told == ["box/use.py:2 names unseal"]
    assert [str(one) for one in memory.edges("Lid", relation="contains", direction="out")] == [
        "box.lid.Lid --[contains]--> box.lid.Lid.unseal"
    ]


def test_a_method_called_as_its_file_is_not_the_module(
    tmp_path: Path, memory: hades.Memory
) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "open_lid.py").write_text(
        "import os\n\nclass Lid:\n    def open_lid(self):\n        os.stat('.')\n"
    )
    memory.ingest(package)
    assert memory.edges("Lid.open_lid", relation="imports") == []
    assert [one.target.name for one in memory.edges("pkg/open_lid.py", relation="imports")] == [
        "os"
    ]
