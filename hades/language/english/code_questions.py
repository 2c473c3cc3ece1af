r"""Questions about code and papers: the relation they ask for, and the kind of text they want.

To add a rule of relations, add a row to `_ASKED`: the relation, its direction, the pattern, and
after `#` a question that this row matches and no row before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from hades.domain.question import Sign
from hades.language.english.lexicon import ARTICLES, word_set
from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 300
"""A longer text is not such a question. The limit keeps the rules fast."""

_ASKED = r"""
last_commit out ^who(?: has)? last <CHANGED> <FILE><WHEN> # Who last changed shop.py?
last_commit out ^who <CHANGED> <FILE> last$ # Who changed shop.py last?
last_commit out ^when (?:was|were|did|has) <FILE> (?:been )?last <CHANGED><WHEN> # When was shop.py last changed?
last_commit out \b(?:last|latest|newest|most recent) (?:change|commit|edit) (?:of|to|in|on) <FILE><WHEN> # The latest commit to shop.py
first_commit out ^who(?: first)? (?:created|added|introduced|started) <FILE>$ # Who created shop.py?
first_commit out ^(?:since )?when (?:was|were) <FILE> (?:first )?(?:created|added|introduced|written)$ # When was shop.py added?
authors out    ^who(?: else| all)?(?: has| have)? (?:wrote|written|worked on|contributed to|maintains?|<CHANGED>) <FILE><WHEN> # Who wrote shop.py?
authors out    \b(?:authors?|contributors?) (?:of|to) <FILE><WHEN> # Who are the authors of shop.py?
commits out    ^what(?:'s| has| was| is)? (?:changed|new|edited|modified|updated|different) in <FILE><WHEN> # What changed in shop.py?
commits out    \b(?:changes?|commits?|edits?|history|log)(?: were made)? (?:of|to|in|for|on|<CHANGED>) <FILE><WHEN> # Which commits touched shop.py?
commits out    ^(?:when|how(?: often)?) (?:was|were|did|has) <FILE> (?:been )?<CHANGED><WHEN> # How did shop.py change?
tests in       \btests?\b.{0,40}?\b(?:cover|test|exercis|check|verif|call|us|touch)\w{0,3} <X>$ # Which tests cover walk_many?
tests in       \b(?:tests?|coverage) (?:for|of|on) <X>$ # Show the tests for walk_many
tests in       ^(?:what|which \w+) (?:tests|covers|exercises) <X>$ # What exercises walk_many?
tests in       <IS> (?:unit[- ])?(?:tested|covered)\b # Where is walk_many tested?
documents in   <DOCS>(?:says?|about|on|for|of|mentions?|describes?|explains?|documents?) <X>$ # Which docs mention walk_many?
documents in   <IS> (?:documented|described|explained)\b # Where is walk_many documented?
extends in     <WHO>(?:extend|subclass|inherit|deriv|implement)\w{0,3}(?: from)? <X>$ # What inherits from Reader?
extends in     \b(?:subclasses|children|descendants|derived classes|implementations) of <X>$ # Subclasses of Reader
extends out    <DOES> (?:extend|subclass|implement|(?:inherit|derive)(?: from)?)$ # What does Reader extend?
extends out    \b(?:(?:base|parent|super)[- ]?class(?:es)?|bases|parents|ancestors) of <X>$ # The base classes of Reader
imports out    <DOES> import(?:ing)?$ # What does ppr.py import?
imports out    \b(?:(?:imports|dependencies) (?:of|in)|imported (?:by|in)) <X>$ # The dependencies of ppr.py
imports in     <WHO>(?:import(?:s|ing)?|importers of) <X>$ # What imports hades.graph.arrays?
imports in     <IS> imported\b # Where is hades.graph.arrays imported?
cites out      <DOES> cit(?:e|ing)$ # What does 1706.03762 cite?
cites out      \bcited (?:by|in) <X>$ # Papers cited by 1706.03762
cites in       <WHO>cit(?:e|es|ing) <X>$ # Which papers cite 1706.03762?
cites in       <IS> cited\b # Where is 1706.03762 cited?
implements out <CODE>(?: (?:belongs? to|of|for|behind|from|accompan\w+|implements?))+ (?:the )?(?:paper |article |work )?<X>$ # Which code repository belongs to 1706.03762?
implements out ^(?:the )?(?:paper |article )?<X>: .{0,40}?<CODE>\b.{0,40}$ # 1706.03762: is there an implementation on GitHub?
calls out      <DOES> (?:call|invoke|use|(?:depend|rely) on)$ # Which functions does walk_many call?
calls out      \b(?:callees of|(?:called|invoked|used) by) <X>$ # Functions called by walk_many
calls in       <WHO>(?:call|invok)(?:e|s|es|ing)? <X>$ # What calls walk_many?
calls in       \b(?:callers?|call ?sites?|calls|invocations) (?:of|to|for) <X>$ # Callers of walk_many
calls in       <IS> (?:called|invoked)\b # Where is walk_many called?
uses in        <WHO>(?:(?:us|referenc)(?:e|es|ing)|(?:depend|rel(?:y|ie))(?:s|ing)? on) <X>$ # What depends on walk_many?
uses in        \b(?:usages?|uses|references|users) (?:of|to) <X>$ # Usages of walk_many
uses in        <IS> (?:used|referenced)\b # Where is walk_many used?
uses in        \b(?:break|affect|impact)\w{0,3}\b.{0,40}?\b(?:chang|renam|remov|delet|edit)\w+ <X>$ # What breaks after renaming walk_many?
contains in    <IS> (?:defined|declared|implemented|located)\b # Where is walk_many defined?
contains in    \bwhere (?:does|do|can|is|are)(?: i find)? <X>(?: live| come from)?$ # Where does walk_many live?
contains in    \b(?:which|what) (?:file|module|class)\b.{0,20}?\b(?:define|contain|ha)s? <X>$ # Which file defines walk_many?
contains in    \b(?:definition|declaration|location|source(?: code)?) of <X>$ # The definition of walk_many
contains out   <DOES> (?:contain|define|have|declare|provide|export)$ # Which functions does ppr.py define?
contains out   \b(?:what|which)\b.{0,40}?\b(?:defined|declared|implemented) in <X>$ # Which symbols are declared in ppr.py?
contains out   \b(?:methods|functions|classes|members|symbols)\b.{0,20}?\b(?:of|in|on) <X>$ # The methods of Reader
"""  # noqa: E501
"""The relation, its direction, a pattern and an example; the first match decides."""
_PARTS = {
    "<DOES>": r"\b(?:what|which)\b.{0,40}?\b(?:does|do|is|are|did) <X>",
    "<WHO>": r"\b(?:who|what|which|where|any\w*|every\w*|all|list|find|show)\b.{0,60}?\b",
    "<IS>": r"\b(?:where|how|is|are)\b(?: else| all)?(?: is| are| does| do)? <X>(?: being| gets?)?",
    "<DOCS>": r"\b(?:docs?|documentation|readme|guide|manual)\b.{0,30}?\b",
    "<CODE>": r"\b(?:code|repositor(?:y|ies)|repos?|implementations?|software|github)",
    "<X>": "(?P<x>.{1,200}?)",
    "<CHANGED>": "(?:changed?|edited|modified|touched|updated)",
    "<FILE>": r"(?:the )?(?:file |module )?(?P<x>\S{1,200}?)",
    "<WHEN>": r"(?: (?:in|on|since|before|after|during|from|this|last|yesterday|today|recently)\b"
    r".{0,60})?$",
}


class RelationRule(NamedTuple):
    """A rule that recognises questions for edges into (`in`) or out of (`out`) a named thing."""

    relation: str
    direction: Literal["in", "out"]
    pattern: re.Pattern[str]
    example: str


def _rule(line: str) -> RelationRule:
    row, example = line.split(" # ")
    relation, direction, rule = row.split(maxsplit=2)
    for part, pattern in _PARTS.items():
        rule = rule.replace(part, pattern)
    compiled = lazy_pattern(rule, re.IGNORECASE)
    return RelationRule(relation, cast("Literal['in', 'out']", direction), compiled, example)


RELATION_RULES = tuple(map(_rule, _ASKED.strip().splitlines()))
_KINDS = word_set("function method class module file decorator exception")
_ARTICLES = ARTICLES | {"this", "that", "our"}
_SMALL_WORDS = _ARTICLES | {"about", "of", "in", "from", "by", "directly", "code", "anywhere"}
_QUOTED = lazy_pattern(r"[`\"“‘']([^`\"”’']+)[`\"”’']")
_AROUND = "`\"'“”‘’?!,;:()[]{}<>."
_CALL = lazy_pattern(r"\(.*|['’]s$")
_CODE = lazy_pattern(r"\w*[._/:#$]\S*\w\S*|[a-z0-9]+[A-Z]\w*|[A-Z]\w*|\w+\(.*")


def relations_asked(question: str) -> Iterator[tuple[RelationRule, list[str]]]:
    """Yield the rules that match a question, each with the names it may mean, likeliest first."""
    asked = " ".join(question.split()).rstrip(" ?.!")
    if len(asked) <= CHARACTERS_READ:
        for rule in RELATION_RULES:
            if match := rule.pattern.search(asked):
                yield rule, _names(match["x"])


def _names(words: str) -> list[str]:
    named = [(word, _CALL.sub("", word.strip(_AROUND))) for word in words.split()]
    code = [name for word, name in named if name and _CODE.fullmatch(word.strip(",;:'\""))]
    small = {name.lower() for _, name in named}
    left = [name for _, name in named if name.lower() not in _KINDS | _SMALL_WORDS]
    # `the cache` is hardly a symbol of that name; `cache` and `the function cache` are.
    alone = left if len(left) == 1 and (small & _KINDS or not small & _ARTICLES) else []
    return list(dict.fromkeys([*_QUOTED.findall(words), *code, *alone, words.strip(_AROUND)]))


_TESTS = lazy_pattern(r"\btest(?:s|ed|ing)?\b", re.IGNORECASE)
_CHANGES = lazy_pattern(
    r"^(?:since )?when\b|\b(?:change[ds]?|changelog|releases?|versions?|deprecated|added)\b",
    re.IGNORECASE,
)
_COMMITS = lazy_pattern(
    r"\bwhy\b|^(?:since )?when (?:was|were|did|has|have)\b|"
    r"^who (?:added|removed|changed|fixed|renamed|raised|wrote|introduced|deprecated|dropped)\b",
    re.IGNORECASE,
)
_HOW_TO = lazy_pattern(r"\bhow (?:to|(?:do|can|could|should|would) (?:i|we|you))\b", re.IGNORECASE)
_FOR_CODE = lazy_pattern(
    r"^(?:in )?(?:where (?:is|are|does|do)\b|(?:which|what) (?:function|class|method|module|file|"
    r"decorator|helper|exception|code|part)\b)|\bimplement(?:s|ed|ation)?\b|\bthe code\b",
    re.IGNORECASE,
)
SIGNS = {
    Sign.TESTS: _TESTS,
    Sign.CHANGE_LOG: _CHANGES,
    Sign.COMMITS: _COMMITS,
    Sign.HOW_TO: _HOW_TO,
    Sign.CODE: _FOR_CODE,
}
"""Patterns of the signs that tell which texts of a repository a question asks for."""
