"""Trains the encoder that ships on questions about notes, starting from all-MiniLM-L6-v2.

    pip install torch transformers onnx onnxruntime tokenizers numpy
    python tools/build_encoder.py --out build/minilm
    python tools/train_encoder.py --start build/minilm --notes training/notes DATA/notes_train \\
        --squad DATA/squad_train/train.json.xz --multihop DATA/multihop_train/train.json.xz

Both sides are trained: a question is brought near to the sentences that speak of it (the right
and the outdated ones), away from the other sentences of the same situation, from near sentences
of other situations and from the rest of the batch. Questions on single paragraphs and over
several passages are mixed in, and an anchor keeps every vector near to the one before, so that
what the encoder knew is not lost. `--without` leaves domains out and measures on them.
"""

import argparse
import json
import lzma
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from build_encoder import write_encoder
from situations import Situation, read_situations
from torch import Tensor
from train_hop import LAYERS, MODEL, Texts, make_model, read_encoder
from transformers import BertModel

TEMPERATURE, RATE, BATCH, WARM_UP = 0.05, 4e-5, 256, 30
NEAR, SEED = 12, 1
PASSAGE_CHARACTERS, TOKENS = 600, 256
MULTIHOP_QUESTIONS = 9_000
WHOLE_NOTES = 0.3
"""The share of visits at which the positive of a question is the whole note, not its sentence."""


@dataclass
class Example:
    """A question, the texts it should find, and hard negatives, as numbers of texts."""

    question: int
    positives: list[int]
    beside: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)


class Corpus:
    """Distinct texts, numbered."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def add(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def all(self, texts: list[str]) -> list[int]:
        return [self.add(text) for text in texts]


def note_examples(situations: list[Situation], corpus: Corpus) -> list[Example]:
    examples = []
    for situation in situations:
        every = {place: corpus.add(situation.sentence(place)) for place in situation.places()}
        for question in situation.questions:
            if not question.gold:
                continue
            speaking = question.gold + question.stale
            positives = [every[place] for place in speaking]
            wholes = [corpus.add(situation.note(note)) for note in {note for note, _ in speaking}]
            beside = [text for text in every.values() if text not in positives]
            examples.append(Example(corpus.add(question.text), positives, beside, wholes=wholes))
    return examples


def squad_examples(path: Path, corpus: Corpus) -> list[Example]:
    return [
        Example(corpus.add(question), corpus.all(right), near=corpus.all(near))
        for question, right, near in json.loads(lzma.decompress(path.read_bytes()))
        if right
    ]


def multihop_examples(path: Path, corpus: Corpus) -> list[Example]:
    data = json.loads(lzma.decompress(path.read_bytes()))
    chosen = random.Random(SEED).sample(data["e"], MULTIHOP_QUESTIONS)
    text = [". ".join(passage.split("\n", 1))[:PASSAGE_CHARACTERS] for passage in data["p"]]
    return [
        Example(corpus.add(question), corpus.all([text[number] for number in gold]))
        for question, gold in chosen
    ]


def read_collections(paths: list[Path]) -> list[dict[str, Any]]:
    """Return the collections that `document_units.py` wrote."""
    lines = [line for path in paths for line in lzma.decompress(path.read_bytes()).split(b"\n")]
    return [json.loads(line) for line in lines if line]


def gold_passages(collection: dict[str, Any], row: dict[str, Any]) -> list[int]:
    """Return the numbers of the passages that have a unit that answers a question."""
    gold = set(row["gold"])
    return [at for at, (_, units) in enumerate(collection["passages"]) if gold & {*units}]


def document_examples(
    collections: list[dict[str, Any]], corpus: Corpus, plain: BertModel
) -> list[Example]:
    """Questions over documents; the passages nearest to a question that do not answer are near."""
    examples = []
    for collection in collections:
        texts = [text for text, _ in collection["passages"]]
        numbers = corpus.all(texts)
        rows = [row for row in collection["questions"] if row["gold"]]
        asked = Texts([row["question"] for row in rows], TOKENS).all(plain)
        best = (asked @ Texts(texts, TOKENS).all(plain).T).topk(min(NEAR, len(texts))).indices
        for row, near in zip(rows, best.tolist(), strict=True):
            gold = gold_passages(collection, row)
            others = [numbers[at] for at in near if at not in gold]
            own = [numbers[at] for at in gold]
            if 0 < len(gold) <= NEAR:
                examples.append(Example(corpus.add(row["question"]), own, near=others))
    return examples


def measure_collection(model: BertModel, collection: dict[str, Any]) -> str:
    """Questions of which a gold passage is the first, among five, among ten, by vectors alone."""
    rows = [row for row in collection["questions"] if row["gold"]]
    read = Texts([text for text, _ in collection["passages"]], TOKENS).all(model)
    asked = Texts([row["question"] for row in rows], TOKENS).all(model)
    best = (asked @ read.T).topk(10).indices.tolist()
    gold = [set(gold_passages(collection, row)) for row in rows]
    hits = [
        [bool({*near[:at]} & own) for at in (1, 5, 10)]
        for near, own in zip(best, gold, strict=True)
    ]
    return " / ".join(f"{100 * share:.1f}" for share in np.mean(hits, 0))


def add_near(examples: list[Example], vectors: Tensor) -> None:
    """Give each example on notes the nearest sentences of other situations as negatives."""
    groups: dict[int, int] = {}
    for example in examples:
        own = example.positives + example.beside
        groups |= {text: min(own) for text in own if text not in groups}
    sentences = sorted(groups)
    of_group = torch.tensor([groups[text] for text in sentences], device="cuda")
    table = vectors[sentences]
    own = torch.tensor([groups[example.positives[0]] for example in examples], device="cuda")
    first = vectors[[example.positives[0] for example in examples]]
    scores = (first @ table.T).masked_fill(own[:, None] == of_group[None], -2)
    for example, near in zip(examples, scores.topk(NEAR).indices.tolist(), strict=True):
        example.near = [sentences[at] for at in near]


def batches(kinds: list[list[Example]], chosen: random.Random) -> list[list[Example]]:
    """One epoch: batches of one kind each, in random order."""
    found = []
    for examples in kinds:
        order = examples[:]
        chosen.shuffle(order)
        found += [order[at : at + BATCH] for at in range(0, len(order) - BATCH // 2, BATCH)]
    chosen.shuffle(found)
    return found


def loss_of(
    model: BertModel, texts: Texts, batch: list[Example], plain: Tensor, given: Any, rng: Any
) -> Tensor:
    """Softmax over the texts of the batch, and the anchor to the plain vectors."""
    wanted, others = [], []
    for example in batch:
        whole = example.wholes and rng.random() < WHOLE_NOTES
        wanted.append(rng.choice(example.wholes if whole else example.positives))
        others += rng.sample(example.beside, min(1, len(example.beside)))
        others += rng.sample(example.near, min(1, len(example.near)))
    numbers = list(dict.fromkeys(wanted + others))
    at = {number: column for column, number in enumerate(numbers)}
    questions = [example.question for example in batch]
    vectors = texts.vectors(model, questions + numbers)
    asked, read = vectors.split([len(questions), len(numbers)])
    scores = asked @ read.T / TEMPERATURE
    also = np.zeros(scores.shape, np.float32)
    for row, example in enumerate(batch):
        for number in example.positives + example.wholes:
            if number in at and number != wanted[row]:
                also[row, at[number]] = -1e4
    scores = scores + torch.tensor(also, device="cuda")
    loss = F.cross_entropy(scores, torch.tensor([at[one] for one in wanted], device="cuda"))
    if given.anchor:
        apart = 1 - (vectors * plain[questions + numbers]).sum(1)
        loss = loss + given.anchor * sum(one.mean() for one in apart.split([len(asked), len(read)]))
    return loss


def train(
    model: BertModel, texts: Texts, kinds: list[list[Example]], plain: Tensor, given: Any
) -> None:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    rng = random.Random(SEED)
    planned = [batch for _ in range(given.epochs) for batch in batches(kinds, rng)]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / WARM_UP, max(0.0, 1 - step / max(1, len(planned)))),
    )
    started = time.monotonic()
    for batch in planned:
        loss_of(model, texts, batch, plain, given, rng).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    print(f"{len(planned)} steps in {time.monotonic() - started:.0f} s", flush=True)


def recall(asked: Tensor, read: Tensor, right: list[set[int]], at: int) -> list[float]:
    best = (asked @ read.T).topk(min(at, len(read))).indices.tolist()
    return [len(set(row) & gold) / len(gold) for row, gold in zip(best, right, strict=True)]


def measure_notes(model: BertModel, situations: list[Situation]) -> dict[str, str]:
    """Right sentence first, and among five, over all sentences of a domain."""
    sentences: list[str] = []
    questions, right, kinds = [], [], []
    for situation in situations:
        start = {}
        for place in situation.places():
            start[place] = len(sentences)
            sentences.append(situation.sentence(place))
        for question in situation.questions:
            if question.gold:
                questions.append(question.text)
                kinds.append(question.kind)
                right.append({start[place] for place in question.gold + question.stale})
    asked, read = Texts(questions, TOKENS).all(model), Texts(sentences, TOKENS).all(model)
    best = (asked @ read.T).topk(5).indices.tolist()
    rows: dict[str, list[list[bool]]] = defaultdict(list)
    for row, gold, kind in zip(best, right, kinds, strict=True):
        hit = [row[0] in gold, bool(set(row) & gold)]
        rows["all"].append(hit)
        if kind in ("paraphrase", "past"):
            rows[kind].append(hit)
    return {
        kind: " / ".join(f"{100 * share:.1f}" for share in np.mean(hits, 0))
        for kind, hits in rows.items()
    }


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().split("\n") if line.strip()]


def measure_set(model: BertModel, folder: Path) -> str:
    """Recall of dense search alone, at 5 and 10, on a public set."""
    if (folder / "turns.jsonl").exists():
        return _measure_turns(model, folder)
    corpus = lines(folder / "corpus.jsonl")
    number = {row["id"]: at for at, row in enumerate(corpus)}
    passages = [f"{row['title']}. {row['text']}"[:1200] for row in corpus]
    rows = [row for row in lines(folder / "questions.jsonl") if row["gold"]]
    asked = Texts([row["question"] for row in rows], 256).all(model)
    read = Texts(passages, 256).all(model)
    right = [{number[gold] for gold in row["gold"] if gold in number} or {-1} for row in rows]
    return " / ".join(f"{100 * np.mean(recall(asked, read, right, at)):.1f}" for at in (5, 10))


def _measure_turns(model: BertModel, folder: Path) -> str:
    turns: dict[str, list[Any]] = defaultdict(list)
    for row in lines(folder / "turns.jsonl"):
        turns[row["conversation"]].append(row)
    rows = [row for row in lines(folder / "questions.jsonl") if row.get("gold")]
    shares: list[float] = []
    for conversation, said in turns.items():
        number = {row["id"]: at for at, row in enumerate(said)}
        own = [row for row in rows if row["conversation"] == conversation]
        read = Texts([f"{row['speaker']}: {row['text']}" for row in said], 256).all(model)
        asked = Texts([row["question"] for row in own], 256).all(model)
        right = [{number[gold] for gold in row["gold"] if gold in number} or {-1} for row in own]
        shares += recall(asked, read, right, 10)
    return f"{100 * np.mean(shares):.1f} (at 10)"


def report(
    name: str,
    model: BertModel,
    aside: list[Situation],
    folders: list[Path],
    collections: list[dict[str, Any]],
) -> None:
    domains = sorted({situation.domain for situation in aside})
    for domain in domains:
        own = [situation for situation in aside if situation.domain == domain]
        print(f"{name:12} {domain:14} {measure_notes(model, own)}", flush=True)
    for collection in collections:
        print(
            f"{name:12} {collection['name']:14} {measure_collection(model, collection)}", flush=True
        )
    for folder in folders:
        print(f"{name:12} {folder.name:14} {measure_set(model, folder)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--start", type=Path, default=MODEL, help="folder of the plain encoder")
    parser.add_argument("--notes", type=Path, nargs="+", required=True)
    parser.add_argument("--squad", type=Path)
    parser.add_argument("--multihop", type=Path)
    parser.add_argument("--units", type=Path, nargs="*", default=[], help="of document_units.py")
    parser.add_argument("--freeze-words", action="store_true", help="keep the word vectors")
    parser.add_argument("--without", nargs="*", default=[], help="domains to leave out")
    parser.add_argument("--measure", type=Path, nargs="*", default=[], help="public sets")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--anchor", type=float, default=2.0)
    parser.add_argument("--plain", action="store_true", help="measure the plain encoder too")
    parser.add_argument("--out", type=Path, help="folder to write the encoder to")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    situations = list(read_situations(given.notes))
    aside = [one for one in situations if one.domain in given.without]
    corpus = Corpus()
    notes = note_examples([one for one in situations if one not in aside], corpus)
    kinds = [notes]
    if given.squad:
        kinds.append(squad_examples(given.squad, corpus))
    if given.multihop:
        kinds.append(multihop_examples(given.multihop, corpus))
    weights = read_encoder(given.start)
    plain, model = (make_model(weights, list(range(LAYERS))) for _ in range(2))
    collections = read_collections(given.units)
    known = [one for one in collections if one["name"] not in given.without]
    kept = [one for one in collections if one["name"] in given.without]
    if known:
        kinds.append(document_examples(known, corpus, plain))
    if given.freeze_words:
        model.embeddings.word_embeddings.requires_grad_(False)
        model.embeddings.position_embeddings.requires_grad_(False)
    texts = Texts(list(corpus.numbers), TOKENS)
    vectors = texts.all(plain)
    add_near(notes, vectors)
    print([len(examples) for examples in kinds], "examples", flush=True)
    if given.plain:
        report("plain", plain, aside, given.measure, kept)
    train(model, texts, kinds, vectors, given)
    report("trained", model, aside, given.measure, kept)
    if given.out:
        floats = {name: value.float().cpu().numpy() for name, value in model.state_dict().items()}
        write_encoder(floats, given.start / "tokenizer.json", given.out)


if __name__ == "__main__":
    main()
