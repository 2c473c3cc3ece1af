"""Idempotency: the answers to writes that may be sent again."""

from __future__ import annotations

from hashlib import sha256

from hades.store.database import StorePart


class Idempotency(StorePart):
    """Stored answers to requests, keyed by space, actor and the actor's idempotency key."""

    def get(self, space: int, by: str, key: str, since: int) -> tuple[bytes, str] | None:
        """Return the request's digest and the answer stored under a key after `since`, or None."""
        row = self._database.row(
            "SELECT n.request_digest, n.answer FROM idempotency n JOIN actors a ON a.id = n.actor "
            "WHERE n.space = ? AND a.name = ? AND n.key_digest = ? AND n.at > ?",
            space,
            by,
            _digest(key),
            since,
        )
        return None if row is None else (row[0], row[1])

    def put(self, space: int, by: str, key: str, request: bytes, answer: str, at: int) -> None:
        """Store the answer to a request (a digest) under a key. Call it inside a transaction."""
        self._database.upsert(
            "idempotency",
            ("space", "actor", "key_digest"),
            space=space,
            actor=self._database.actor_id(by),
            key_digest=_digest(key),
            request_digest=request,
            at=at,
            answer=answer,
        )

    def drop(self, before: int) -> None:
        """Delete the answers that were stored up to a time."""
        self._database.run("DELETE FROM idempotency WHERE at <= ?", before)


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
