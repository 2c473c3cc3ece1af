"""Trains the keeper: it reads sentences of a conversation and says which are worth keeping.

    pip install torch transformers onnx onnxruntime tokenizers numpy scikit-learn
    python tools/train_keeper.py training/said --teacher all-mpnet-base-v2 \\
      --without PROJECT … --write hades/models/minilm/keeper.onnx

The keeper is a copy of the reader with other outputs. It reads texts together, the first of them
with type 0 and the others with type 1:

- worth: the logit that a sentence is worth keeping, read with what was said before and after it
- kind (7 logits): the kind of a sentence worth keeping
- leans: the logit that a sentence worth keeping is understood only with what was said before it
- replaces: the logit that a statement makes an earlier statement outdated, which is read after it
- touches: the logit that a prompt calls for a statement, which is read after it
- alone: worth of a message that comes alone, without anything before or after it

`training/said/README.md` describes the data. Projects named by `--without` are measured and not
learnt from. Two teachers of twelve layers learn the labels, the keeper learns the teachers' logits,
and its last layer alone learns the kinds.
"""

import argparse
import json
import lzma
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from train_hop import DEVICE, LAYERS, MODEL, WIDTH, Texts, make_model, read_encoder
from train_reader import REPLACES as READER_REPLACES
from train_reader import (
    SPEAKS,
    Pairs,
    Reader,
    Teacher,
    auc,
    fit,
    measure_int8,
    read_reader,
    write_reader,
)

from hades.language.english.stems import stem
from hades.language.said import SaidSentence, as_statement, said_sentences
from hades.language.words import words

KINDS = (
    *("nothing", "decision", "preference", "constraint"),
    *("fact", "correction", "outcome", "plan"),
)
BATCH, EPOCHS, RATE, SEED = 256, 6, 2e-4, 1
TEACHER_BATCH, TEACHER_EPOCHS = 128, 3
UNLABELLED = 24
"""How many statements near a prompt or another statement the keeper also reads without labels; it
learns the teachers' logits of them."""
LEANS, REPLACES, TOUCHES, ALONE = range(len(KINDS), len(KINDS) + 4)
OUTPUTS = len(KINDS) + 4
NEAR = 8
"""How many wrong statements are read beside the right ones: the nearest of the same project."""
NAMED_SHARE = 0.25
"""The share of sessions that are read with names of persons instead of `user` and `assistant`."""
NAMES = (
    *("Ana", "Tom", "Priya", "Jonas", "Mei", "Carla", "Yusuf", "Nora", "Ben", "Ingrid", "Luca"),
    *("Hana", "Piet", "Rosa", "Sam", "Dmitri", "Aoife", "Karim", "Lena", "Oskar", "Maria Lopez"),
)
AFTER_SHARE = 0.5
"""The share of sentences that are read with the text after them. In use, there may be none yet."""
ROOT = Path(__file__).parent.parent
NOTHING_SHARE, NOTES_A_DOMAIN, QUESTIONS = 0.3, 60, 1_200
"""To fit the head: the share of sentences not worth keeping, notes of a domain, and questions."""
MESSAGE_SHARE = 4.0
"""The weight of a short message; there are few."""
FORMS = ("extracted", "statement")
"""The keeper learns from both forms of a statement: the text that HADES stores, and a sentence in
other words, as a model or a person would write it."""
LEANS_FROM = 2
"""A statement leans on the turn before if it shares at least this many words with it that are not
in its own turn."""


@dataclass(frozen=True)
class Example:
    """Texts to read together, and a label: the number of a kind, or 0 or 1 for an output."""

    project: str
    texts: tuple[str, ...]
    output: int
    """The output that the label is for; 0 for kinds."""
    label: int


class KeeperTeacher(Teacher):
    """A larger encoder with the keeper's outputs."""

    batch = TEACHER_BATCH

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.head = nn.Linear(2 * self.body.config.hidden_size, OUTPUTS).to(DEVICE)


class Keeper(Reader):
    """The reader's layers with the keeper's outputs."""

    rate, batch = RATE, BATCH

    def __init__(self, weights: dict[str, Tensor], layers: list[int]) -> None:
        head = weights.pop("head")
        super().__init__(weights, layers)
        weights["head"] = head
        self.head = nn.Linear(2 * WIDTH, OUTPUTS)
        with torch.no_grad():
            if len(head) in (OUTPUTS - 1, OUTPUTS):  # a keeper, with or without `alone`
                self.head.weight[: len(head)] = head
            else:  # begin with the similar outputs of the reader
                self.head.weight[TOUCHES] = head[SPEAKS]
                self.head.weight[REPLACES] = head[READER_REPLACES]
        self.head.to(DEVICE)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def sentence_examples(session: dict[str, Any], chosen: random.Random) -> Iterator[Example]:
    """Yield each sentence of a session with its kind, and whether it leans on the turn before."""
    named = dict(zip(("user", "assistant"), chosen.sample(NAMES, 2), strict=True))
    names = named if chosen.random() < NAMED_SHARE else {}
    turns = [(names.get(turn["role"], turn["role"]), turn["text"]) for turn in session["turns"]]
    for said in said_sentences(turns):
        kept = [one for one in session["keep"] if _is_kept(one, turns, said)]
        kind = KINDS.index(kept[0]["kind"]) if kept else 0
        texts = said.read if chosen.random() < AFTER_SHARE else (*said.read[:2], "")
        yield Example(session["project"], texts, 0, kind)
        for one in kept:
            yield Example(session["project"], said.read, LEANS, int(_leans(one, turns)))


def _leans(one: dict[str, Any], turns: Sequence[tuple[str, str]]) -> bool:
    before = turns[one["turn"] - 1][1] if one["turn"] else ""
    new = _words(before) - _words(turns[one["turn"]][1])
    return len(_words(one["statement"]) & new) >= LEANS_FROM


def extracted(session: dict[str, Any], one: dict[str, Any]) -> str:
    """Return the text that HADES would store for a label: the sentences that contain its quote."""
    turns = [(turn["role"], turn["text"]) for turn in session["turns"]]
    said = [sentence for sentence in said_sentences(turns) if _is_kept(one, turns, sentence)]
    return as_statement(said, leans=_leans(one, turns)) if said else one["quote"]


def _is_kept(one: dict[str, Any], turns: Sequence[tuple[str, str]], said: SaidSentence) -> bool:
    """Return whether a sentence and the quote of a label overlap by half of the shorter one."""
    if one["turn"] != said.turn:
        return False
    start = turns[said.turn][1].find(one["quote"])
    both = min(start + len(one["quote"]), said.end) - max(start, said.start)
    return both > 0 and both >= 0.5 * min(len(one["quote"]), said.end - said.start)


def _words(text: str) -> set[str]:
    return {stem(word) for word in words(text) if len(word) > 3}


def pair_examples(
    sessions: list[dict[str, Any]], prompts: list[dict[str, Any]], encoder: Any, near: int = NEAR
) -> Iterator[Example]:
    """Yield statements with those they may replace, and prompts with those they may call for."""
    of_project: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for session in sorted(sessions, key=lambda one: one["at"]):
        of_project[session["project"]] += [
            (session["at"], {**one, "extracted": extracted(session, one)})
            for one in session["keep"]
        ]
    for project, kept in of_project.items():
        vectors = Texts([one["statement"] for _, one in kept], 128).all(encoder)
        asked = [one for one in prompts if one["project"] == project]
        asked_vectors = Texts([one["prompt"] for one in asked] or ["-"], 128).all(encoder)
        places = {one["id"]: place for place, (_, one) in enumerate(kept)}
        for place, (_, one) in enumerate(kept):
            before = range(place)
            right = {places[one["replaces"]]} if one["replaces"] else set[int]()
            for other in _nearest(vectors[place], vectors, before, right, near):
                label = int(other in right)
                for form in FORMS:
                    texts = one[form], kept[other][1][form]
                    yield Example(project, texts, REPLACES, label)
        for one, vector in zip(asked, asked_vectors, strict=False):
            held = [place for place, (at, _) in enumerate(kept) if at <= one["at"]]
            gone = {
                places[kept[place][1]["replaces"]] for place in held if kept[place][1]["replaces"]
            }
            right = {places[name] for name in one["needs"]}
            held = [place for place in held if place not in gone or place in right]
            for other in _nearest(vector, vectors, held, right, near):
                for form in FORMS:
                    texts = one["prompt"], kept[other][1][form]
                    yield Example(project, texts, TOUCHES, int(other in right))


def _nearest(
    vector: Tensor, vectors: Tensor, among: Sequence[int], right: set[int], count: int
) -> list[int]:
    """Return all places in `right`, and those of the `count` nearest other vectors."""
    scores = (vectors @ vector).tolist()
    near = sorted((one for one in among if one not in right), key=lambda one: -scores[one])
    return [*right, *near[:count]]


def learn(
    model: Reader, pairs: Pairs, examples: list[Example], given: Any, aims: Tensor | None = None
) -> None:
    """Train a model on the labels of examples, or on `aims`, the logits of the teachers."""
    outputs = torch.tensor([one.output for one in examples], device=DEVICE)
    labels = torch.tensor([one.label for one in examples], device=DEVICE)
    if aims is None:
        kinds = F.one_hot(labels, len(KINDS)).float()
        answers = labels.float()
    else:
        kinds = aims[:, : len(KINDS)].softmax(1)
        answers = aims.gather(1, outputs[:, None])[:, 0].sigmoid()

    def loss(some: list[int]) -> Tensor:
        logits, output = pairs.logits(model, some), outputs[some]
        of_kind = output == 0
        total = F.cross_entropy(
            logits[of_kind, : len(KINDS)], kinds[some][of_kind], reduction="sum"
        )
        own = logits[~of_kind].gather(1, output[~of_kind, None])[:, 0]
        wanted = answers[some][~of_kind]
        total += F.binary_cross_entropy_with_logits(own, wanted, reduction="sum")
        return total / len(some)

    is_teacher = isinstance(model, KeeperTeacher)
    epochs = given.teacher_epochs if is_teacher else given.epochs
    fit(model, pairs, epochs, model.rate, loss, given.seed)


def fit_head(model: Keeper, examples: list[Example], lone: list[Example], given: Any) -> None:
    """Fit the outputs worth, kinds, leans and alone of the head; the layers stay as they are.

    The layers do not learn the kinds. Few sentences are kept, and layers that learn kinds from them
    forget which sentences are worth keeping. The teachers do not know the kinds either. A message
    without context is rare in sessions and says other things, so it has an output of its own, which
    learns from notes, questions and short messages too.
    """
    weight, bias = model.head.weight.detach().cpu(), model.head.bias.detach().cpu()
    said = [one for one in examples if one.output == 0]
    some = [one for one in said if one.label or random.random() < NOTHING_SHARE]
    alone = [Example(one.project, (one.texts[0], "", ""), 0, one.label) for one in some]
    kinds = [one for one in said if one.label]
    leans = [one for one in examples if one.output == LEANS]
    notes = [one for one in lone if not one.project]
    shares = [1.0] * len(some) + [0.5] * (len(alone) + len(notes))
    lone_shares = [0.5] * len(alone) + [MESSAGE_SHARE if one.project else 0.5 for one in lone]
    for rows, outputs, strength, counts in (
        ([*some, *alone, *notes], [0], 1e-3, shares),
        ([*alone, *lone], [ALONE], 1e-2, lone_shares),
        (kinds, list(range(1, LEANS)), 1e-2, None),
        (leans, [LEANS], 2e-3, None),
    ):
        vectors = pooled(model, rows, given.encoder)
        mean, spread = vectors.mean(0), vectors.std(0)
        labels = [min(one.label, 1) if outputs in ([0], [ALONE]) else one.label for one in rows]
        fitted = LogisticRegression(C=strength, max_iter=1_000)
        fitted.fit((vectors - mean) / spread, labels, sample_weight=counts)
        weight[outputs] = torch.tensor(fitted.coef_ / spread).float()
        moved = fitted.intercept_ - (fitted.coef_ / spread) @ mean
        bias[outputs] = torch.tensor(moved).float()
    bias[0] += math.log(NOTHING_SHARE)  # correct for the sentences that were not sampled
    with torch.no_grad():
        model.head.weight.copy_(weight)
        model.head.bias.copy_(bias)


def lone_examples(
    messages: Path, notes: Path, questions: Path, chosen: random.Random
) -> list[Example]:
    """Return notes, which are worth keeping, and questions, which are not, without context.

    Short messages of both sorts follow; the project of such an example is its subject.
    """
    examples = []
    for situation_file in sorted(notes.glob("*.xz")):
        sentences = [
            sentence
            for line in lzma.decompress(situation_file.read_bytes()).splitlines()
            for note in json.loads(line)["notes"]
            for sentence in note["sentences"]
        ]
        some = chosen.sample(sentences, min(len(sentences), NOTES_A_DOMAIN))
        examples += [Example("", (f"user: {text}", "", ""), 0, 1) for text in some]
    asked = [row["q"] for path in sorted(questions.glob("*.jsonl")) for row in read_lines(path)]
    some = chosen.sample(asked, min(len(asked), QUESTIONS))
    examples += [Example("", (f"user: {text}", "", ""), 0, 0) for text in some]
    return examples + [
        Example(row["subject"], (f"user: {row['text']}", "", ""), 0, int(row["kind"] is not None))
        for row in read_lines(messages)
    ]


def pooled(model: Keeper, examples: list[Example], folder: Path) -> Any:
    """Return the vectors that the head of a model reads."""
    head, model.head = model.head, nn.Identity()
    model.head.out_features = 2 * WIDTH
    vectors = judged(model, examples, folder)
    model.head = head
    return vectors


def judged(model: Keeper, examples: list[Example], folder: Path) -> Any:
    return Pairs([one.texts for one in examples], folder).all(model).float().cpu().numpy()


def measure(name: str, examples: list[Example], logits: Any) -> None:
    """Print how good each output is on sentences and pairs not learnt from."""
    rows = [at for at, one in enumerate(examples) if one.output == 0]
    kinds = np.array([examples[at].label for at in rows])
    kept = kinds > 0
    order = np.argsort(-logits[rows, 0])
    hit = kept[order].cumsum()
    precise, found = hit / np.arange(1, len(hit) + 1), hit / max(1, hit[-1])
    at_recall = {share: precise[np.searchsorted(found, share)] for share in (0.6, 0.7, 0.8)}
    right = (logits[rows, 1 : len(KINDS)].argmax(1) + 1 == kinds)[kept].mean()
    said = ", ".join(f"{100 * one:.1f} at {100 * share:.0f}" for share, one in at_recall.items())
    line = f"{name:24} worth it {said} % found; kind {100 * right:.1f}"
    for output, of in ((LEANS, "leans"), (REPLACES, "replaces"), (TOUCHES, "touches")):
        own = [
            (logits[at, output], one.label)
            for at, one in enumerate(examples)
            if one.output == output
        ]
        sides = [[value for value, label in own if label == side] for side in (1, 0)]
        line += f"; {of} AUC {auc(*sides):.3f} of {len(sides[0])}/{len(sides[1])}"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="with sessions.jsonl, prompts.jsonl")
    parser.add_argument("--encoder", type=Path, default=MODEL, help="folder of encoder and reader")
    parser.add_argument("--teacher", type=Path, help="folder of the larger encoder")
    parser.add_argument("--messages", type=Path, default=ROOT / "training" / "said" / "lone.jsonl")
    parser.add_argument("--notes", type=Path, default=ROOT / "training" / "notes")
    parser.add_argument("--questions", type=Path, default=ROOT / "training" / "questions")
    parser.add_argument("--teachers", type=int, default=2, help="how many to train")
    parser.add_argument("--without", nargs="*", default=[], help="projects measured, not learnt")
    parser.add_argument("--layers", type=int, nargs="+", default=list(range(LAYERS)))
    parser.add_argument("--start", type=Path, help="graph to begin with (default: the reader)")
    parser.add_argument("--only-head", action="store_true", help="fit only the head")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--teacher-epochs", type=int, default=TEACHER_EPOCHS)
    parser.add_argument("--dump", type=Path, help="file for the logits of the projects left out")
    parser.add_argument("--write", type=Path, help="the graph file to write")
    given = parser.parse_args()
    given.seed, chosen = SEED, random.Random(SEED)
    weights = read_reader(given.encoder, given.start or given.encoder / "reader.onnx")
    encoder = make_model(read_encoder(given.encoder), list(range(LAYERS)))
    examples: list[Example] = []
    unlabelled: list[Example] = []
    for folder in given.folders:
        sessions = read_lines(folder / "sessions.jsonl")
        prompts = read_lines(folder / "prompts.jsonl")
        examples += [one for each in sessions for one in sentence_examples(each, chosen)]
        examples += pair_examples(sessions, prompts, encoder)
        if given.teacher:
            unlabelled += [one for each in sessions for one in sentence_examples(each, chosen)]
            unlabelled += pair_examples(sessions, prompts, encoder, UNLABELLED)
    learnt = [one for one in examples if one.project not in given.without]
    kept = [one for one in examples if one.project in given.without]
    print(len(learnt), "examples,", len(kept), "left out", flush=True)
    labelled, aims = learnt, None
    if given.teacher:
        more = [*learnt, *(one for one in unlabelled if one.project not in given.without)]
        print(len(more), "examples for a student", flush=True)
        pairs = Pairs([one.texts for one in learnt], given.teacher)
        all_pairs = Pairs([one.texts for one in more], given.teacher)
        sums: Any = 0.0
        for number in range(given.teachers):
            given.seed = SEED + number
            torch.manual_seed(given.seed)
            teacher = KeeperTeacher(given.teacher)
            learn(teacher, pairs, learnt, given)
            sums = sums + all_pairs.all(teacher)
        aims, learnt = sums / given.teachers, more
    torch.manual_seed(SEED)
    model = Keeper(weights, given.layers)
    if not given.only_head:
        learn(model, Pairs([one.texts for one in learnt], given.encoder), learnt, given, aims)
    lone = lone_examples(given.messages, given.notes, given.questions, chosen)
    fit_head(model, labelled, lone, given)
    logits = judged(model, kept, given.encoder)
    measure("left out", kept, logits)
    if given.write:
        write_reader(model, given.encoder, given.write)
        measure_int8(model, given.encoder, given.write, [one.texts for one in labelled[:100]])
    if given.dump:
        rows = [[*one.texts, one.project, one.output, one.label] for one in kept]
        given.dump.write_text(json.dumps([rows, np.round(logits, 3).tolist()]))


if __name__ == "__main__":
    main()
