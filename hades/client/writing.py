"""Telling a server: the methods of a client that write a topic, a fact or a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

from hades.client.connection import Connection
from hades.client.holds import hold
from hades.client.moments import sent
from hades.client.view import RemoteView
from hades.domain.graph import Edge, FactChange
from hades.domain.rebuild import rebuild
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
)
from hades.domain.times import NOW, TimeLike
from hades.domain.trace import Space, State
from hades.errors import Denied, InvalidInput
from hades.memory import Memory


class RemoteWriting(RemoteView, Memory):
    """States, edges, entities and spaces, told over a connection."""

    def __init__(
        self, connection: Connection, space: str, *, read_only: bool = False, owner: bool = True
    ) -> None:
        RemoteView.__init__(self, connection, space, NOW)
        self._read_only = read_only
        self._owner = owner

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Let go of the connections. What was written stays written."""
        if self._owner:
            self._connection.close()

    def in_space(self, name: str, *, actor: str | None = None) -> Self:
        """The same memory, looking at another space."""
        refuse_actor(actor)
        other = type(self)(self._connection, name, read_only=self._read_only, owner=False)
        other._look()
        return other

    def batch(self) -> AbstractContextManager[None]:
        """All writes inside become one commit, all or nothing, for this thread.

        Other writers wait meanwhile, so the server undoes it after ten silent seconds or a
        minute in all. A batch inside a batch is a part of it; where the inner one fails,
        both are undone.
        """
        self._refuse_reading_only()
        return hold(self._connection, self._space, "batch")

    # States

    def remember(
        self,
        topic: str,
        content: str,
        *,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        valid_from: TimeLike | None = None,
        expect_version: int | None = None,
    ) -> State:
        """Write what is known of a topic now; see `Memory.remember`."""
        body = {
            "content": clean_content(content),
            "tags": clean_tags(tags),
            "metadata": clean_metadata(metadata),
            "confidence": clean_share(confidence, "confidence"),
            "importance": clean_share(importance, "importance"),
            "valid_from": sent(valid_from),
            "expect_version": clean_number(expect_version, "expected version"),
        }
        return rebuild(State, self._put(body, "states", clean_name(topic)))

    def forget(self, topic: str) -> State:
        """Let a topic be gone from now on, with its edges. Its history is kept."""
        return rebuild(State, self._send("DELETE", None, "states", clean_name(topic)))

    def purge(self, name: str) -> dict[str, int]:
        """Erase a topic or entity everywhere; see `Memory.purge`. Needs the role admin."""
        where = ("states", clean_name(name))
        return dict(self._send("DELETE", None, *where, purge=True))

    # Edges

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float | None = None,
        evidence: str = "",
        valid_from: TimeLike | None = None,
        valid_to: TimeLike | None = None,
        exclusive: bool = False,
        metadata: Mapping[str, Any] | None = None,
        kind: str = "concept",
    ) -> Edge:
        """Say that one thing stands in a relation to another; see `Memory.relate`."""
        body = {
            "source": clean_name(source),
            "relation": clean_name(relation, "relation"),
            "target": clean_name(target),
            "weight": clean_share(weight, "weight"),
            "evidence": clean_content(evidence),
            "valid_from": sent(valid_from),
            "valid_to": sent(valid_to),
            "exclusive": exclusive,
            "metadata": clean_metadata(metadata),
            "kind": clean_name(kind, "kind"),
        }
        return rebuild(Edge, self._post(body, "edges"))

    def unrelate(
        self,
        source: str | int,
        relation: str | None = None,
        target: str | None = None,
        *,
        at: TimeLike | None = None,
        mistake: bool = False,
    ) -> list[Edge]:
        """End the edges between two things, or one edge by its number; see `Memory.unrelate`."""
        if not isinstance(source, int) and relation is None:
            raise InvalidInput("Say which relation ends, or give the number of an edge.")
        by = "edge" if isinstance(source, int) else "source"
        body = {
            by: source,
            "relation": relation,
            "target": target,
            "at": sent(at),
            "mistake": mistake,
        }
        return rebuild(list[Edge], self._post(body, "edges", "end")["items"])

    def change_fact(
        self,
        subject: str,
        relation: str,
        target: str | None = None,
        *,
        to: str | None = None,
        new_relation: str | None = None,
        content: str | None = None,
        evidence: str = "",
        at: TimeLike | None = None,
    ) -> FactChange:
        """A fact changed: close what no longer holds and open what holds instead."""
        for name, what in ((relation, "relation"), (new_relation, "relation"), (to, "topic")):
            if name is not None:
                clean_name(name, what)
        body = {
            "subject": subject,
            "relation": relation,
            "target": target,
            "to": to,
            "new_relation": new_relation,
            "content": None if content is None else clean_content(content),
            "evidence": clean_content(evidence),
            "at": sent(at),
        }
        return rebuild(FactChange, self._post(body, "edges", "change"))

    def set_inverse(self, relation: str, inverse: str) -> None:
        """Say which relation takes over when a fact of this relation changes."""
        body = {"inverse": clean_name(inverse, "relation")}
        self._put(body, "inverses", clean_name(relation, "relation"))

    # Entities

    def add_alias(self, name: str, alias: str) -> None:
        """Let an entity be found under another name too."""
        body = {"name": clean_name(name, "entity"), "alias": clean_name(alias, "alias")}
        self._post(body, "entities", "alias")

    def set_kind(self, name: str, kind: str) -> None:
        """Say what kind of thing an entity is: person, method, place …"""
        body = {"name": clean_name(name, "entity"), "kind": clean_name(kind, "kind")}
        self._post(body, "entities", "kind")

    def merge(self, keep: str, *others: str) -> None:
        """From now on the others are `keep`; `split` takes any of them out again."""
        if not others:
            raise InvalidInput("Name at least two entities to merge.")
        for name in (keep, *others):
            clean_name(name, "entity")
        self._post({"keep": keep, "others": list(others)}, "entities", "merge")

    def split(self, name: str) -> None:
        """Undo a merge, or make an alias an entity of its own."""
        self._post({"name": clean_name(name, "entity")}, "entities", "split")

    # Spaces

    def create_space(self, name: str) -> Space:
        """A new, empty space in this memory. Needs the role admin."""
        self._refuse_reading_only()
        made = self._connection.write("POST", "spaces", body={"name": clean_name(name, "space")})
        return rebuild(Space, made)

    def drop_space(self, name: str) -> None:
        """Erase a space with everything in it. Needs the role admin."""
        self._refuse_reading_only()
        self._connection.write("DELETE", "spaces", name)

    # Inside

    def _post(self, body: dict[str, Any], *parts: str) -> Any:
        return self._send("POST", body, *parts)

    def _put(self, body: dict[str, Any], *parts: str) -> Any:
        return self._send("PUT", body, *parts)

    def _send(self, method: str, body: dict[str, Any] | None, *parts: str, **query: Any) -> Any:
        """A write to this space; what was not said is left out of it."""
        self._refuse_reading_only()
        if body is not None:
            body = {name: value for name, value in body.items() if value is not None}
        where = ("spaces", self._space, *parts)
        return self._connection.write(method, *where, body=body, **query)

    def _refuse_reading_only(self) -> None:
        if self._read_only:
            raise Denied(f"{self._connection.address.text} is open for reading only.")


def refuse_actor(actor: str | None) -> None:
    """Who wrote is for the server to say."""
    if actor is not None:
        raise InvalidInput("A server knows who writes by the key or the user: leave `actor` out.")
