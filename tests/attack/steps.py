"""How many steps a backtracking matcher takes: a reference for `re`, which cannot be asked.

The parse tree is what `re.DEBUG` prints. It is run as `re` runs it: alternatives in order,
greedy, lazy and possessive repeats, a new try at every start. What `re` saves by looking for a
literal first is not counted on, so the count is never too small by more than a factor.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product, takewhile

BOUND_CLAMPED = 12
"""`{1,300}` is run as `{1,12}`: it grows alike, and short texts are enough to see it."""
STEPS_AT_MOST = 20_000
"""For a character: more is no constant factor."""
_COMMON = "aZ0_ \t\n.-,:;'\"/\\()[]{}<>#*`|=!é"


class TooManySteps(Exception):
    """More steps than a linear matcher could need."""


@dataclass
class Tree:
    """One line of the parse tree, and what stands below it."""

    op: str
    args: list[str]
    alternatives: list[list[Tree]] = field(default_factory=list)

    @property
    def below(self) -> list[Tree]:
        return self.alternatives[0] if self.alternatives else []

    @property
    def most(self) -> int | None:
        """Of a repeat: how often at most; None without end."""
        return None if self.args[1] == "MAXREPEAT" else int(self.args[1])

    @property
    def is_long(self) -> bool:
        """Whether it is a repeat that may take a lot."""
        return self.op.endswith("_REPEAT") and (self.most is None or self.most > BOUND_CLAMPED)


def parse(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[Tree]:
    """The parse tree of a pattern, as `re.DEBUG` prints it."""
    text = pattern.pattern
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        re.compile(text, (pattern.flags & ~re.ASCII) | re.DEBUG)
    lines = printed.getvalue().split("\n\n")[0].splitlines()
    found, rest = _sequence([line for line in lines if line.strip()], 0)
    assert not rest, rest
    return found


def _sequence(lines: list[str], level: int) -> tuple[list[Tree], list[str]]:
    found: list[Tree] = []
    while lines and (len(lines[0]) - len(lines[0].lstrip())) // 2 == level:
        op, *args = lines[0].split()
        if op in ("OR", "ELSE"):
            inner, lines = _sequence(lines[1:], level + 1)
            found[-1].alternatives.append(inner)
            continue
        found.append(Tree(op, args))
        inner, lines = _sequence(lines[1:], level + 1)
        if inner:
            found[-1].alternatives.append(inner)
    return found, lines


Accepts = Callable[[str], bool]
_CATEGORIES: dict[str, Accepts] = {
    "DIGIT": str.isdecimal,
    "SPACE": str.isspace,
    "WORD": lambda c: c.isalnum() or c == "_",
}


def accepts(leaf: Tree, fold: bool) -> Accepts | None:
    """Which characters a leaf of the tree takes; None: it is no leaf."""
    if leaf.op == "ANY":
        return lambda c: c != "\n"
    if leaf.op == "ANY_ALL":
        return lambda c: True
    if leaf.op in ("LITERAL", "NOT_LITERAL"):
        wanted = chr(int(leaf.args[0]))
        same = {wanted, *((wanted.lower(), wanted.upper()) if fold else ())}
        return (lambda c: c in same) if leaf.op == "LITERAL" else (lambda c: c not in same)
    if leaf.op != "IN":
        return None
    members = [_member(one, fold) for one in leaf.below if one.op != "NEGATE"]
    negated = leaf.below[0].op == "NEGATE"
    return lambda c: any(member(c) for member in members) != negated


def _member(one: Tree, fold: bool) -> Accepts:
    if one.op == "CATEGORY":
        name = one.args[0].removeprefix("CATEGORY_").removeprefix("UNI_")
        inside = _CATEGORIES[name.removeprefix("NOT_")]
        return (lambda c: not inside(c)) if name.startswith("NOT_") else inside
    if one.op == "RANGE":
        low, high = (int(part.strip("(),")) for part in one.args)
        return lambda c: any(low <= ord(x) <= high for x in _cases(c, fold))
    exactly = accepts(one, fold)
    assert exactly is not None, one
    return exactly


def _cases(c: str, fold: bool) -> set[str]:
    return {c, *(x for x in (c.lower(), c.upper()) if len(x) == 1)} if fold else {c}


class Counter:
    """A pattern as a program for a backtracking machine that counts its steps."""

    def __init__(self, pattern: re.Pattern[str] | re.Pattern[bytes]) -> None:
        self.pattern = pattern
        self.tree = parse(pattern)
        self._flags = pattern.flags
        self._referred = {one.args[0] for one in _all(self.tree) if one.op.startswith("GROUPREF")}
        self._program = self._compiled(self.tree, bool(pattern.flags & re.IGNORECASE))
        self._steps = self._limit = 0

    def steps(self, text: str, limit: int, use: str = "search") -> int:
        """The steps to find all matches in a text (`search`), or to `match` or `fullmatch` it."""
        self._steps, self._limit = 0, limit
        whole = [*self._program[:-1], ("at", "END_STRING"), ("done",)]
        at = 0
        while at <= len(text):
            end = self._run(whole if use == "fullmatch" else self._program, text, at, {})
            if use != "search":
                break
            at = end if end is not None and end > at else at + 1
        return self._steps

    @property
    def is_exact(self) -> bool:
        """Whether no bound was made smaller."""
        return all(
            int(one.args[0]) <= BOUND_CLAMPED and (one.most or 0) <= BOUND_CLAMPED
            for one in _all(self.tree)
            if one.op.endswith("_REPEAT")
        )

    def match_end(self, text: str) -> int | None:
        """Where a match at the start ends, as `re` says it."""
        self._steps, self._limit = 0, STEPS_AT_MOST * (len(text) + 1)
        return self._run(self._program, text, 0, {})

    def _compiled(self, tree: list[Tree], fold: bool) -> list[tuple]:
        program: list[tuple] = []
        self._emit_all(program, tree, fold)
        return [*program, ("done",)]

    def _emit_all(self, program: list[tuple], trees: list[Tree], fold: bool) -> None:
        for one in trees:
            self._emit(program, one, fold)

    def _emit(self, program: list[tuple], tree: Tree, fold: bool) -> None:
        takes = accepts(tree, fold)
        if takes is not None:
            if tree.op == "ANY" and self._flags & re.DOTALL:
                takes = lambda c: True  # noqa: E731
            program.append(("take", takes))
        elif tree.op == "AT":
            program.append(("at", tree.args[0].removeprefix("AT_")))
        elif tree.op == "SUBPATTERN":
            added, taken = (bool(int(flags) & re.IGNORECASE) for flags in tree.args[1:3])
            kept = tree.args[0] in self._referred
            program += [("open", tree.args[0])] * kept
            self._emit_all(program, tree.below, (fold or added) and not taken)
            program += [("close", tree.args[0])] * kept
        elif tree.op == "BRANCH":
            self._branch(program, tree.alternatives, fold)
        elif tree.op in ("MAX_REPEAT", "MIN_REPEAT"):
            self._repeat(program, tree, fold)
        elif tree.op == "POSSESSIVE_REPEAT":
            inner: list[tuple] = []
            self._repeat(inner, Tree("MAX_REPEAT", tree.args, tree.alternatives), fold)
            program.append(("atomic", [*inner, ("done",)]))
        elif tree.op == "ATOMIC_GROUP":
            program.append(("atomic", self._compiled(tree.below, fold)))
        elif tree.op in ("ASSERT", "ASSERT_NOT"):
            back = _least(tree.below) if tree.args[0] == "-1" else 0
            inside = self._compiled(tree.below, fold)
            program.append(("look", inside, tree.op == "ASSERT", back))
        elif tree.op == "GROUPREF_EXISTS":
            self._branch(program, [*tree.alternatives, []][:2], fold, given=tree.args[0])
        elif tree.op == "GROUPREF":
            program.append(("same", tree.args[0]))
        elif tree.op == "FAILURE":
            program.append(("fail",))
        else:
            raise NotImplementedError(tree.op)

    def _branch(
        self,
        program: list[tuple],
        alternatives: list[list[Tree]],
        fold: bool,
        given: str | None = None,
    ) -> None:
        ends = []
        for number, one in enumerate(alternatives):
            split = len(program)
            if number < len(alternatives) - 1:
                program.append(())
            self._emit_all(program, one, fold)
            if number < len(alternatives) - 1:
                ends.append(len(program))
                program.append(())
                way = ("split", split + 1) if given is None else ("given", given)
                program[split] = (*way, len(program))
        for end in ends:
            program[end] = ("jump", len(program))

    def _repeat(self, program: list[tuple], tree: Tree, fold: bool) -> None:
        least, most = int(tree.args[0]), tree.most
        lazy = tree.op == "MIN_REPEAT"
        if most is not None:
            most = min(most, BOUND_CLAMPED)
        least = min(least, BOUND_CLAMPED)
        for _ in range(least):
            self._emit_all(program, tree.below, fold)
        splits = []
        for _ in range(1 if most is None else most - least):
            splits.append(len(program))
            program.append(())
            self._emit_all(program, tree.below, fold)
        if most is None:
            again = "jump" if _least(tree.below) else "loop"
            program.append((again, splits[0]))
        for at in splits:
            ways = (at + 1, len(program))
            program[at] = ("split", *(reversed(ways) if lazy else ways))

    def _run(self, program: list[tuple], text: str, at: int, groups: dict) -> int | None:
        """Where the first match ends that begins here."""
        stack = [(0, at, groups)]
        while stack:
            place, at, groups = stack.pop()
            while True:
                self._steps += 1
                if self._steps > self._limit:
                    raise TooManySteps
                op = program[place]
                name = op[0]
                if name == "take":
                    if at >= len(text) or not op[1](text[at]):
                        break
                    at += 1
                elif name == "split":
                    stack.append((op[2], at, groups))
                    place = op[1]
                    continue
                elif name == "loop":
                    if groups.get(place) == at:  # it took nothing: `re` ends such a repeat
                        break
                    groups = {**groups, place: at}
                    place = op[1]
                    continue
                elif name == "jump":
                    place = op[1]
                    continue
                elif name == "at":
                    if not self._stands(op[1], text, at):
                        break
                elif name == "atomic":
                    end = self._run(op[1], text, at, groups)
                    if end is None:
                        break
                    at = end
                elif name == "look":
                    start = at - op[3]
                    end = self._run(op[1], text, start, groups) if start >= 0 else None
                    if (end is not None) != op[2]:
                        break
                elif name == "open":
                    groups = {**groups, op[1]: (at, at)}
                elif name == "close":
                    groups = {**groups, op[1]: (groups[op[1]][0], at)}
                elif name == "given":
                    if op[1] not in groups:
                        place = op[2]
                        continue
                elif name == "same":
                    start, end = groups.get(op[1], (0, 0))
                    if not text.startswith(text[start:end], at):
                        break
                    at += end - start
                elif name == "fail":
                    break
                else:
                    return at
                place += 1
        return None

    def _stands(self, where: str, text: str, at: int) -> bool:
        lines = bool(self._flags & re.MULTILINE)
        if where in ("BEGINNING", "BEGINNING_STRING"):
            return at == 0 or (where == "BEGINNING" and lines and text[at - 1] == "\n")
        if where in ("END", "END_STRING"):
            last = at == len(text)
            if where == "END" and not last:
                return text[at] == "\n" and (lines or at == len(text) - 1)
            return last
        word = _CATEGORIES["WORD"]
        before, after = at > 0 and word(text[at - 1]), at < len(text) and word(text[at])
        return (before != after) == (where == "BOUNDARY")

    @cached_property
    def alphabet(self) -> str:
        """Characters of every class the pattern mentions."""
        fold = bool(self._flags & re.IGNORECASE)
        found = dict.fromkeys(_COMMON)
        for tree in _all(self.tree):
            if tree.op in ("LITERAL", "NOT_LITERAL"):
                found[chr(int(tree.args[0]))] = None
            takes = accepts(tree, fold)
            if takes is not None and not any(map(takes, found)):
                found |= dict.fromkeys(next(filter(takes, map(chr, range(0x11000))), "a"))
        return "".join(found)

    def example(self, trees: list[Tree], turn: int = 0) -> str:
        """A short text these take; `turn` chooses among alternatives and characters."""
        fold = bool(self._flags & re.IGNORECASE)
        parts = []
        for tree in trees:
            takes = accepts(tree, fold)
            if takes is not None:
                able = [c for c in self.alphabet if takes(c)] or ["a"]
                parts.append(able[turn % len(able)])
            elif tree.op == "BRANCH":
                parts.append(self.example(tree.alternatives[turn % len(tree.alternatives)], turn))
            elif tree.op.endswith("_REPEAT"):
                often = max(min(int(tree.args[0]), 3), turn // 2 % 2)
                parts.append(self.example(tree.below, turn) * often)
            elif tree.op in ("SUBPATTERN", "ATOMIC_GROUP"):
                parts.append(self.example(tree.below, turn))
        return "".join(parts)

    def shapes(self) -> Iterator[tuple[str, str, str]]:
        """What may blow up: a start, what is repeated after it, and an end that does not fit.

        The likely ones first: each repeat's own text after what leads to it, again and again.
        """
        leads, units, repeated = {""}, set(self._mentioned), [""]
        for before, tree, after in _repeats(self.tree, []):
            bodies = {self.example(tree.below, turn) for turn in range(4)} - {""}
            lead = {self.example(before, turn) for turn in range(2)}
            follows = {self.example(after, turn) for turn in range(2)}
            for a, b, c in product(sorted(lead), sorted(bodies), sorted(follows)):
                for shape in ((a, b), ("", b), ("", a + b), (a + " ", f" {c} "), (a, b + c)):
                    yield *shape, "\0"
                    yield *shape, ""
            leads |= lead
            units |= bodies | {repeated[-1] + one for one in bodies}
            repeated.append(min(bodies, default=""))
        units |= {self.example(self.tree), *_COMMON} - {""}
        for lead, unit, end in product(sorted(leads), sorted(units), ("\0", "", "\n!")):
            yield lead, unit, end

    def grows(self, use: str = "search", shapes: int | None = None) -> str | None:
        """A shape on which the steps grow faster than its length, if there is one."""
        for lead, unit, end in islice(dict.fromkeys(self.shapes()), shapes):
            try:
                few, more = (self._each(lead, unit, end, n, use) for n in (32, 128))
                if more > 2 * few and self._each(lead, unit, end, 256, use) > 1.6 * more:
                    return f"{lead!r} + {unit!r} * n + {end!r}"
            except TooManySteps:
                return f"{lead!r} + {unit!r} * n + {end!r}: too many steps"
        return None

    def _each(self, lead: str, unit: str, end: str, times: int, use: str) -> float:
        """Steps for a character."""
        text = lead + unit * times + end
        return self.steps(text, STEPS_AT_MOST * len(text), use) / len(text)

    @cached_property
    def _mentioned(self) -> set[str]:
        """One character of each leaf that is repeated."""
        fold = bool(self._flags & re.IGNORECASE)
        leaves = [leaf for _, tree, _ in _repeats(self.tree, []) for leaf in _all(tree.below)]
        tests = [takes for leaf in leaves if (takes := accepts(leaf, fold))]
        return {next(filter(takes, self.alphabet), "a") for takes in tests}


def _least(trees: list[Tree]) -> int:
    """How many characters these take at least; of a lookbehind, how far it looks back."""
    return sum(map(_least_of, trees))


def _least_of(tree: Tree) -> int:
    if tree.op in ("IN", "LITERAL", "NOT_LITERAL", "ANY"):
        return 1
    if tree.op in ("AT", "ASSERT", "ASSERT_NOT", "GROUPREF"):
        return 0
    least = min(map(_least, tree.alternatives), default=0)
    return least * int(tree.args[0]) if tree.op.endswith("_REPEAT") else least


def _all(trees: list[Tree]) -> Iterator[Tree]:
    for tree in trees:
        yield tree
        if tree.op != "IN":
            for inner in tree.alternatives:
                yield from _all(inner)


def _repeats(
    trees: list[Tree], before: list[Tree]
) -> Iterator[tuple[list[Tree], Tree, list[Tree]]]:
    """Every long repeat, with what stands before it and what follows in its row."""
    for place, tree in enumerate(trees):
        passed = [*before, *trees[:place]]
        if tree.is_long:
            yield passed, tree, list(takewhile(lambda one: not one.is_long, trees[place + 1 :]))
        if tree.op != "IN":
            for inner in tree.alternatives:
                yield from _repeats(inner, passed)
