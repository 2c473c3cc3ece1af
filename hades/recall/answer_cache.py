"""Answer cache: the same question to the same memory is computed once.

The key has everything that an answer depends on: the memory, its change number, the space, the
moment, the question with its options, the encoder, the ranker, and the caller's role. A write
changes the key and drops older answers, so no answer is stale. An answer expires at the next moment
at which something begins or ends. A question with a time in its words is not cached.

Answers are kept in this process and, with `redis_url`, in Redis for other processes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from hmac import compare_digest
from typing import Any

from hades import __version__
from hades.domain.answer import Recall, StageReport
from hades.domain.graph import Reason
from hades.domain.plain import plain
from hades.domain.rebuild import rebuild
from hades.errors import HadesError, install_command
from hades.settings import load_settings
from hades.store.byte_cache import ByteCache
from hades.store.records import ANSWERS_SECRET
from hades.store.store import Store

KEPT_S = 3600
"""The longest time an answer is kept: freshness and use counts change its ranking."""
BYTES_AT_MOST = 1 << 20
"""The largest answer that is kept."""
TRIED_AGAIN_S = 30.0
"""How long to wait before asking a Redis server again that did not answer."""
_TIMEOUT_S = 0.2
_UNFINISHED = {Reason.TIMEOUT, Reason.ENCODER_FAILED, Reason.ARCHIVE_LOST}
"""Diagnostics of an answer that may be better the next time, so it is not kept."""
_log = logging.getLogger(__name__)


class AnswerCache:
    """A cache of one memory's answers, as JSON, limited in bytes."""

    def __init__(self, store: Store, bytes_at_most: int, shared: SharedAnswers | None) -> None:
        self._store = store
        self.shared = shared
        self.kept = ByteCache[str, bytes](bytes_at_most)
        self._revision: tuple[str, int] = "", 0
        self.uses = {"kept": 0, "shared": 0, "made": 0}

    def answer(
        self,
        asked: tuple[Any, ...],
        make: Callable[[], Recall],
        *,
        ready: Callable[[], object],
        holds_until: Callable[[int], int],
    ) -> Recall:
        """Return the cached answer, or make one and cache it, unless it is incomplete or timed.

        `ready` brings the memory up to date before an answer is made. `holds_until` returns until
        when an answer made at a moment holds while nothing is written.
        """
        begun = time.perf_counter()
        revision = self._store.changefeed.revision()
        now = self._store.now()
        key = self._key(revision, asked)
        kept = None if key is None else self._find(revision, key, now)
        if kept is not None:
            ms = 1000 * (time.perf_counter() - begun)
            return replace(kept, ms=ms, telemetry=(StageReport("cache", ms),))
        ready()
        revision = self._store.changefeed.revision()
        answer = make()
        self.uses["made"] += 1
        is_whole = not _UNFINISHED & {note.reason for note in answer.reasons}
        key = self._key(revision, asked) if is_whole and answer.time is None else None
        # After a write during `make`, it is unknown which revision the answer is of.
        if key is not None and self._store.changefeed.revision() == revision:
            until = min(holds_until(now), now + KEPT_S * 1_000_000)
            text = json.dumps({"until": until, "answer": plain(answer)}).encode()
            if until > now and len(text) <= BYTES_AT_MOST:
                self._drop_before(revision)
                self.kept.put(key, text, len(text))
                if self.shared is not None:
                    self.shared.put(revision[0], key, text)
        return answer

    def _key(self, revision: tuple[str, int], asked: tuple[Any, ...]) -> str | None:
        """Return the key of an answer; None if it must not be cached."""
        if not self.kept.bound or self._store.in_transaction:
            return None
        seen = self._store.database.embedded  # differs for a role that sees fewer rows
        try:
            text = json.dumps(plain([__version__, *revision, seen, asked]), sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            return None  # `make` reports what is wrong with the question
        return blake2b(text.encode(), digest_size=20).hexdigest()

    def _find(self, revision: tuple[str, int], key: str, now: int) -> Recall | None:
        """Return the cached answer of this process or of Redis, unless it has expired."""
        self._drop_before(revision)
        text = self.kept.get(key)
        tier = "kept"
        if text is None and self.shared is not None:
            text = self.shared.get(revision[0], key)
            tier = "shared"
        if text is None:
            return None
        try:
            read = json.loads(text)
            if read["until"] <= now:
                return None
            answer = rebuild(Recall, read["answer"])
        except (HadesError, ValueError, TypeError, KeyError, RecursionError) as error:
            _log.warning("a kept answer cannot be read and is computed again: %s", error)
            return None
        self.uses[tier] += 1
        if tier == "shared":
            self.kept.put(key, text, len(text))
        return answer

    def _drop_before(self, revision: tuple[str, int]) -> None:
        """Drop all answers kept here if the memory changed: if this is another revision."""
        if revision != self._revision:
            self._revision = revision
            self.kept.clear()


class SharedAnswers:
    """Answers that several processes share in Redis. HADES works without it.

    Redis is not trusted: answers are parsed as JSON and signed with a secret that only readers of
    the whole memory see.
    """

    def __init__(self, url: str, secret: str) -> None:
        import redis

        self._secret = secret.encode()
        self._failed = (redis.RedisError, OSError)
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
        )
        self._off_until = 0.0

    def get(self, generation: str, key: str) -> bytes | None:
        """Return the value of a key; None if it is absent, wrongly signed, or Redis fails."""
        name = _prefix(generation) + key
        value = self._call(lambda: self._redis.getrange(name, 0, BYTES_AT_MOST + 32))
        if not isinstance(value, bytes) or not value:
            return None
        if compare_digest(value[:32], self._signed(name, value[32:])):
            return value[32:]
        self._call(lambda: self._redis.delete(name))
        return None

    def put(self, generation: str, key: str, value: bytes) -> None:
        """Keep a value in Redis for KEPT_S seconds; a failure is only logged."""
        name = _prefix(generation) + key
        signed = self._signed(name, value) + value
        self._call(lambda: self._redis.set(name, signed, ex=KEPT_S))

    def forget(self, generation: str) -> bool:
        """Delete all answers of a memory; return whether that worked."""
        self._off_until = 0.0  # try even after a failure: purged text must go

        def delete() -> bool:
            for name in self._redis.scan_iter(match=_prefix(generation) + "*", count=500):
                self._redis.delete(name)
            return True

        return bool(self._call(delete))

    def _signed(self, name: str, value: bytes) -> bytes:
        hashed = blake2b(f"{name}\0".encode(), key=self._secret, digest_size=32)
        hashed.update(value)
        return hashed.digest()

    def _call(self, call: Callable[[], Any]) -> Any:
        if time.monotonic() < self._off_until:
            return None
        try:
            return call()
        except self._failed as error:
            self._off_until = time.monotonic() + TRIED_AGAIN_S
            _log.warning("Redis does not answer (%s): continuing without it for a while", error)
            return None


def open_shared(url: str | None, store: Store) -> SharedAnswers | None:
    """Return the shared answers, or None: without a URL, without the package `redis`, or for a
    role limited to some spaces, which does not see the secret."""
    secret = store.meta(ANSWERS_SECRET) if url is not None else None
    return None if url is None or secret is None else _opened(url, secret)


def _opened(url: str, secret: str) -> SharedAnswers | None:
    try:
        return SharedAnswers(url, secret)
    except (ImportError, ValueError) as error:
        _log.warning(
            "redis_url cannot be used (%s): correct it, or %s", error, install_command("cluster")
        )
        return None


def forget_shared(store: Store) -> bool:
    """Delete the answers of a memory in Redis, if it is used; return False if that failed."""
    url = load_settings().redis_url
    shared = None if url is None else _opened(url, "")  # deleting needs no secret
    return shared is None or shared.forget(store.changefeed.revision()[0])


def _prefix(generation: str) -> str:
    return f"hades:{blake2b(generation.encode(), digest_size=8).hexdigest()}:"
