"""Inside: what operations work with.

A `View` or `Memory` is what users call. Its attribute `inside` is this object. The modules of HADES
use nothing else of a view or memory; it is not part of the public API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hades.domain.rules import clean_kind, clean_name
from hades.domain.times import NOW, TIMES_MEANT, AsOf, TimeLike
from hades.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from hades.recall.engine import RecallEngine
    from hades.recall.find.finder import Finder, Scope
    from hades.recall.query_context import QueryContext
    from hades.settings import Settings
    from hades.store.records import Progress, Write
    from hades.store.store import Store

DEFAULT_SPACE = "default"
DEFAULT_ENCODER = "minilm"


@dataclass(eq=False)
class Inside:
    """A store with a space, a moment and an author, and the engines that answer questions."""

    store: Store
    space: str
    as_of: AsOf = NOW
    actor: str = ""
    """The author of what is written here; "" for a view without one."""
    encoder: str = DEFAULT_ENCODER
    """The setting of the encoder."""
    engines: dict[str, RecallEngine] = field(default_factory=dict)
    """The engines by encoder; shared by all views of a memory, and made at first use."""
    takes: Callable[[str], bool] = lambda _topic: True
    """Whether an ingestion takes a new topic. In a library, each volume takes its share."""
    space_id: int = field(init=False)

    def __post_init__(self) -> None:
        clean_name(self.space, "space")
        self.space_id = self.store.spaces.id(self.space)
        if self.actor:
            clean_name(self.actor, "actor")

    def do(
        self, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """Do an operation; a library does it over its volumes."""
        return function(self, *args, **named)

    # Services

    @property
    def engine(self) -> RecallEngine:
        """The engine that answers questions."""
        if self.encoder not in self.engines:
            from hades.recall.engine import RecallEngine

            engine = RecallEngine(self.store, self.encoder, self.settings.ranker)
            self.engines.setdefault(self.encoder, engine)  # another thread may have been first
        return self.engines[self.encoder]

    def query_context(
        self,
        on_progress: Progress | None = None,
        question: str = "",
        nodes: Sequence[int] = (),
    ) -> AbstractContextManager[QueryContext]:
        """Return a context for a question, or for nodes, without filters."""
        return self.engine.query_context(self.scope(), on_progress, question, nodes)

    @property
    def finder(self) -> Finder:
        """The indexes, and the encoder."""
        return self.engine.finder

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        from hades.settings import load_settings

        return load_settings()

    # Times, names and filters

    def time(self, time: TimeLike | None) -> datetime | None:
        """Read a time; words such as `yesterday` count from now."""
        from hades.language.english.moments import parse_time

        return None if time is None else parse_time(time, self.store.now())

    def require_space(self) -> None:
        """Raise NotFound if the space was dropped, also if one of its name was created since."""
        if self.store.spaces.id(self.space) != self.space_id:
            raise NotFound(
                f"The space {self.space!r} was dropped and created again: open it again."
            )

    def named_node(self, name: str) -> int:
        """Return the node of an exact name; raise NotFound if there is none."""
        clean_name(name)
        self.require_space()
        node = self.store.entities.node(self.space_id, name, self.as_of)
        if node is None:
            raise NotFound(f"There is no topic or entity {name!r} in the space {self.space!r}.")
        return node

    def meant_node(self, name: str) -> int:
        """Return the node that a user means by a name; raise NotFound if none or several fit."""
        from hades.recall.find.meant import meant_node

        clean_name(name)
        self.require_space()
        return meant_node(self.store, self.scope(), name)

    def meant_topic(self, name: str) -> str:
        """Return the topic that a user means by a name; raise NotFound if none or several fit."""
        from hades.recall.find.meant import meant_topic

        clean_name(name)
        self.require_space()
        return meant_topic(self.store, self.scope(), name)

    def scope(
        self,
        *,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        about: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        by: str = "written",
    ) -> Scope:
        """Return the scope of a question: space, moment and filters, which are checked here."""
        from hades.recall.find.finder import Scope

        glob = topics_of(glob, about)
        for pattern in (tag, glob):
            if pattern is not None:
                clean_name(pattern, "pattern")
        clean_kind(kind)
        if by not in TIMES_MEANT:
            raise InvalidInput(f"Filter by {' or '.join(TIMES_MEANT)}, not by {by!r}.")
        return Scope(
            space=self.space_id,
            space_name=self.space,
            as_of=self.as_of,
            tag=tag,
            kind=kind,
            glob=glob,
            since=self.time(since),
            until=self.time(until),
            by_event=by == "event",
        )

    # Writing

    def batch(self) -> AbstractContextManager[None]:
        """Return a context that makes all writes inside it one commit, and nobody else writes."""
        return self.store.transaction()

    @contextmanager
    def write(self, action: str) -> Iterator[Write]:
        """Yield a write by this author to this space; `action` names it in the change log."""
        with self.store.write(self.actor, action, self.space_id) as write:
            self.require_space()
            yield write

    def finish_owed(self) -> bool:
        """Do the work that an erasure or restore left; return whether none is left.

        Inside a batch, do it when the batch ends, and return False.
        """
        if self.store.in_transaction:
            self.store.afterwards(self.finish_owed)
            return False
        self.store.finish_owed(self._drop_indexes)
        return not self.store.owed()

    def _drop_indexes(self) -> bool:
        """Drop indexes and kept answers, which may contain purged text; return if all are gone."""
        gone = True
        if self.store.index_folder.exists():
            from hades.index.array_store import drop_files
            from hades.index.space_words import forget_opened

            forget_opened()
            gone = drop_files(self.store.index_folder)
        if self.store.index_folder.exists() or "://" in self.store.database.place:
            from hades.recall.answer_cache import forget_shared

            gone = forget_shared(self.store) and gone
        for engine in self.engines.values():
            engine.forget()
        return gone

    def follow_encoder(self, *, only_default: bool = False) -> None:
        """Use the encoder that the memory stores. `only_default`: keep an encoder that the caller
        chose."""
        if not only_default or self.encoder == DEFAULT_ENCODER:
            self.encoder = self.store.meta("encoder") or self.encoder

    def use_extractor(self, extractor: str) -> None:
        """Find names with this extractor from now on."""
        from hades.models.extractor import DEFAULT_EXTRACTOR, known_extractor

        if known_extractor(extractor) != (self.store.meta("extractor") or DEFAULT_EXTRACTOR):
            with self.write("set_extractor"):
                self.store.set_meta("extractor", extractor)

    def close(self) -> None:
        """End the work of the engines, and close the file or the connection."""
        for engine in self.engines.values():
            engine.finder.finish()
        self.store.close()


def topics_of(glob: str | None, about: str | None) -> str | None:
    """Return the pattern of the topics to search: `glob`, or all topics of a user."""
    if about is None:
        return glob
    if glob is not None:
        raise InvalidInput("Give `about` or `glob`, not both.")
    from hades.lifecycle.distil import folder_of

    return f"{folder_of(about)}*"
