"""Limits: how much a query asks for, known before any of it is done.

A query is read once: its tokens, how deep it goes, how many aliases it has and what it
costs. A field costs what it weighs; a list costs that once and its fields as often as it
has items: `first`, or a size that is known. Fragments are weighed once each, so that a few
that name each other many times over cost no time here, only their price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    Lexer,
    OperationDefinitionNode,
    SelectionSetNode,
    Source,
    TokenKind,
    VariableNode,
    Visitor,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    parse,
    value_from_ast_untyped,
    visit,
)
from graphql.pyutils import Undefined

from hades.errors import InvalidInput

CHARACTERS_AT_MOST = 20_000
TOKENS_AT_MOST = 1_500
FRAGMENTS_AT_MOST = 40
SPREADS_AT_MOST = 80
REPEATS_AT_MOST = 5
"""The same field side by side; with these limits no query took 100 ms to be found valid."""
NESTING_AT_MOST = 40
"""Brackets in brackets; more than any query within the depth needs."""
DEPTH_AT_MOST = 16
"""Fields in fields: five steps from node to node, three fields each."""
ALIASES_AT_MOST = 30
COST_AT_MOST = 20_000
FIRST_AT_MOST = 200
HOPS_AT_MOST = 4
INTROSPECTION_COST = 2_000
LIST_ITEMS = 10
"""Taken for the length of a list that has no `first` and no size of its own below."""

COSTS = {
    "Query.spaces": 10,
    "Space.stats": 100,
    "Space.topics": 10,
    "Space.entities": 1_000,
    "Space.entity": 8,
    "Space.topic": 2,
    "Space.edges": 500,
    "Space.paths": 600,
    "Space.subgraph": 500,
    "Space.search": 300,
    "Space.recall": 2_000,
    "Space.whenChanged": 10,
    "Topic.history": 20,
    "Topic.chunks": 5,
    "Topic.diff": 5,
    "Topic.workingMemory": 500,
    "Topic.state": 2,
    "Node.topic": 2,
    "Node.entity": 8,
    "Node.edges": 10,
    "Node.neighbours": 200,
    "Node.paths": 600,
    "Node.mentions": 20,
    "Node.related": 20,
}
"""What a field weighs beside 1: about how many look-ups by name (50 µs) take as long, over 600
notes with 3,000 edges, on a machine under load."""
SIZES = {
    "TopicPage.items": 1,
    "EntityPage.items": 1,
    "EdgePage.items": 1,
    "StatePage.items": 1,
    "ChunkPage.items": 1,
    "Subgraph.nodes": 1,
    "Subgraph.edges": 4,
    "Path.steps": 4,
    "Path.nodes": 5,
    "Recall.passages": 20,
    "WorkingSet.items": 20,
}
"""Items of lists without `first`; those of a page are counted where its `first` is given."""
ASKING = frozenset({"search", "recall", "paths", "neighbours", "subgraph", "workingMemory"})
"""Fields that walk the indexes: what was written before is indexed first."""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a query asks for."""

    cost: int = 0
    depth: int = 0
    aliases: int = 0
    asks: bool = False
    """Whether a field of it walks the indexes."""
    introspects: bool = False

    def beside(self, other: Weight) -> Weight:
        """Both together."""
        return Weight(
            self.cost + other.cost,
            max(self.depth, other.depth),
            self.aliases + other.aliases,
            self.asks or other.asks,
            self.introspects or other.introspects,
        )


def read_query(text: str) -> DocumentNode:
    """The query as a tree; refused when it is too long to be looked at."""
    if len(text) > CHARACTERS_AT_MOST:
        raise InvalidInput(
            f"The query has {len(text):,} characters, more than {CHARACTERS_AT_MOST:,}."
        )
    _count_tokens(text)
    document = parse(text)
    visit(document, _Repeats())
    return document


def _count_tokens(text: str) -> None:
    lexer = Lexer(Source(text))
    tokens = depth = 0
    while lexer.advance().kind is not TokenKind.EOF:
        tokens += 1
        depth += lexer.token.kind in (TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L)
        depth -= lexer.token.kind in (TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R)
        if tokens > TOKENS_AT_MOST:
            raise InvalidInput(f"The query has more than {TOKENS_AT_MOST:,} tokens: ask for less.")
        if depth > NESTING_AT_MOST:
            raise InvalidInput(
                f"The query is nested more than {NESTING_AT_MOST} deep: ask for less."
            )


class _Repeats(Visitor):
    """Refuses what makes validation slow: it compares fields and fragments pair by pair."""

    def __init__(self) -> None:
        super().__init__()
        self._fragments = self._spreads = 0

    def enter_selection_set(self, node: SelectionSetNode, *_: Any) -> None:
        names = Counter(_side_by_side(node))
        for name, times in names.most_common(1):
            if times > REPEATS_AT_MOST:
                raise InvalidInput(f"The field {name!r:.60} stands {times} times side by side.")

    def enter_fragment_definition(self, _node: FragmentDefinitionNode, *_: Any) -> None:
        self._fragments += 1
        if self._fragments > FRAGMENTS_AT_MOST:
            raise InvalidInput(f"The query has more than {FRAGMENTS_AT_MOST} fragments.")

    def enter_fragment_spread(self, _node: FragmentSpreadNode, *_: Any) -> None:
        self._spreads += 1
        if self._spreads > SPREADS_AT_MOST:
            raise InvalidInput(f"The query names fragments more than {SPREADS_AT_MOST} times.")


def _side_by_side(selected: SelectionSetNode) -> Iterator[str]:
    """The names under which fields are answered here, those in inline fragments too."""
    for one in selected.selections:
        if isinstance(one, FieldNode):
            yield (one.alias or one.name).value
        elif isinstance(one, InlineFragmentNode):
            yield from _side_by_side(one.selection_set)


def chosen_operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """The operation that is meant: the one of that name, or the only one."""
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    if name is not None:
        operations = [one for one in operations if one.name and one.name.value == name]
    if len(operations) != 1:
        many = "several operations: say which one by `operationName`"
        raise InvalidInput(f"The query has {many if operations else 'no operation of that name'}.")
    if operations[0].operation.value != "query":
        raise InvalidInput("Only queries are answered here: nothing is written by GraphQL.")
    return operations[0]


def check(weight: Weight) -> None:
    """Refuse what asks for too much, with the number."""
    if weight.depth > DEPTH_AT_MOST:
        raise InvalidInput(
            f"The query is {weight.depth} fields deep, more than {DEPTH_AT_MOST}: ask for less."
        )
    if weight.aliases > ALIASES_AT_MOST:
        raise InvalidInput(
            f"The query has {weight.aliases:,} aliases, more than {ALIASES_AT_MOST}: ask for less."
        )
    if weight.cost > COST_AT_MOST:
        raise InvalidInput(
            f"The query costs {weight.cost:,}, more than {COST_AT_MOST:,}: ask for fewer fields "
            "or a smaller `first`."
        )


class Scale:
    """Weighs one operation of a document that was found valid."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._operation = operation
        self._fragments = {
            one.name.value: one
            for one in document.definitions
            if isinstance(one, FragmentDefinitionNode)
        }
        self._weighed: dict[str, Weight] = {}
        self._variables = {
            one.variable.name.value: value_from_ast_untyped(one.default_value)
            for one in operation.variable_definitions or ()
            if one.default_value is not None
        } | dict(variables)

    def weigh(self) -> Weight:
        """What the operation asks for."""
        root = self._schema.query_type
        assert root is not None
        return self._selected(self._operation.selection_set, root)

    def spaces(self) -> set[str]:
        """The spaces that are named at the root, fragments included."""
        root = self._schema.query_type
        assert root is not None
        found: set[str] = set()
        for field in self._root_fields(self._operation.selection_set, set()):
            if field.name.value == "space":
                name = self._argument(field, root.fields["space"], "name")
                found |= {name} if isinstance(name, str) else set()
        return found

    def _root_fields(self, selected: SelectionSetNode, seen: set[str]) -> list[FieldNode]:
        fields: list[FieldNode] = []
        for one in selected.selections:
            if isinstance(one, FieldNode):
                fields.append(one)
            elif isinstance(one, InlineFragmentNode):
                fields += self._root_fields(one.selection_set, seen)
            elif isinstance(one, FragmentSpreadNode) and one.name.value not in seen:
                seen.add(one.name.value)
                fields += self._root_fields(self._fragments[one.name.value].selection_set, seen)
        return fields

    def _selected(
        self, selected: SelectionSetNode, of: GraphQLObjectType | GraphQLInterfaceType
    ) -> Weight:
        weight = Weight()
        for one in selected.selections:
            if isinstance(one, FieldNode):
                weight = weight.beside(self._field(one, of))
            elif isinstance(one, InlineFragmentNode):
                weight = weight.beside(self._selected(one.selection_set, of))
            elif isinstance(one, FragmentSpreadNode):
                weight = weight.beside(self._fragment(one.name.value))
        return weight

    def _fragment(self, name: str) -> Weight:
        if name not in self._weighed:
            fragment = self._fragments[name]
            of = self._schema.get_type(fragment.type_condition.name.value)
            assert isinstance(of, GraphQLObjectType | GraphQLInterfaceType)
            self._weighed[name] = self._selected(fragment.selection_set, of)
        return self._weighed[name]

    def _field(self, node: FieldNode, of: GraphQLObjectType | GraphQLInterfaceType) -> Weight:
        name, aliases = node.name.value, int(node.alias is not None)
        if name == "__typename":
            return Weight(0, 1, aliases)
        if name in ("__schema", "__type"):
            # How deep these go is limited by a rule of the validation.
            return Weight(INTROSPECTION_COST, 1, aliases, introspects=True)
        key, field = f"{of.name}.{name}", of.fields[name]
        inside, times = Weight(), self._times(key, node, field)
        kind = get_named_type(field.type)
        if node.selection_set is not None and isinstance(
            kind, GraphQLObjectType | GraphQLInterfaceType
        ):
            inside = self._selected(node.selection_set, kind)
        return Weight(
            cost=1 + COSTS.get(key, 0) + times * inside.cost,
            depth=1 + inside.depth,
            aliases=aliases + inside.aliases,
            asks=name in ASKING or inside.asks,
            introspects=inside.introspects,
        )

    def _times(self, key: str, node: FieldNode, field: GraphQLField) -> int:
        """How often the fields inside are answered, at most."""
        self._bounded(node, field, "hops", HOPS_AT_MOST)
        if "first" in field.args:
            return self._bounded(node, field, "first", FIRST_AT_MOST)
        kind = get_nullable_type(field.type)
        if is_list_type(kind) and not is_leaf_type(get_named_type(kind)):
            return SIZES.get(key, LIST_ITEMS)
        return 1

    def _bounded(self, node: FieldNode, field: GraphQLField, name: str, most: int) -> int:
        if name not in field.args:
            return 1
        number = self._argument(node, field, name)
        if not isinstance(number, int | float) or not 1 <= number <= most:
            raise InvalidInput(f"`{name}` is a whole number from 1 to {most}, not {number!r:.40}.")
        return int(number)

    def _argument(self, node: FieldNode, field: GraphQLField, name: str) -> Any:
        """The value of an argument: as it is written, by its variable, or the default."""
        default = field.args[name].default_value
        for given in node.arguments or ():
            if given.name.value == name:
                if isinstance(given.value, VariableNode):
                    return self._variables.get(given.value.name.value, _known(default))
                if isinstance(given.value, IntValueNode):
                    return int(given.value.value)
                return value_from_ast_untyped(given.value)
        return _known(default)


def _known(default: Any) -> Any:
    return None if default is Undefined else default


def sentence(error: GraphQLError) -> str:
    """What a query does wrong, and where."""
    places = ", ".join(f"line {one.line}, column {one.column}" for one in error.locations or ())
    return f"{error.message.rstrip('.')} ({places})." if places else error.message
