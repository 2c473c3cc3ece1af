"""Asking: questions. They are sent as bodies, for questions may be long; they only read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from starlette.responses import Response

from hades.domain.answer import Answer, Mode, Recall
from hades.domain.trace import Hit
from hades.recall.plan import DOORS
from hades.serve.rest.calls import Asks
from hades.serve.rest.routes import routes
from hades.serve.rest.words import NAME, Body, Hint, Kind, Question, Time
from hades.serve.wire import Page

router = routes("/v1/spaces/{space:name}", "questions")

HITS_AT_MOST = 1_000
SYSTEMS = ("dense", "words", "hybrid", "ppr", "paths", "tiers", "full")

Door = Annotated[str, Hint(enum=list(DOORS))]
Hits = Annotated[int, Field(le=HITS_AT_MOST), Hint(minimum=1)]


class Asking(Body):
    """What every question says."""

    question: Question
    tag: Annotated[str, NAME] | None = None
    kind: Kind | None = None
    glob: Annotated[str, NAME] | None = None
    as_of: Time | None = None
    known_at: Time | None = None

    def arguments(self) -> dict[str, Any]:
        """What was said, as the method takes it."""
        return self.model_dump(exclude_unset=True, exclude={"as_of", "known_at"})


class Search(Asking):
    """A question for passages."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "data corruption", "limit": 5}]}
    )

    limit: Hits = 10
    door: Door | Annotated[list[Door], Field(max_length=len(DOORS))] | None = None


class Rank(Asking):
    """A question for one system of the evaluation ladder."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "Why not approach X?", "system": "ppr"}]}
    )

    limit: Hits = 10
    system: Annotated[str, Hint(enum=list(SYSTEMS))] = "full"


class Recalling(Asking):
    """A question for a packed context."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "Why don't we use approach X?", "budget": 2000, "as_of": "2024-02"}
            ]
        }
    )

    budget: Annotated[int, Hint(minimum=50)] | None = None
    mode: Annotated[str, Hint(enum=[mode.value for mode in Mode])] | None = None
    plan: dict[str, Any] | None = None


@router.post("/search", summary="Search passages", response_model=Page[Hit])
async def search(asks: Asks, body: Search) -> Response:
    """The passages that fit a question best."""
    asks.at(body.as_of, body.known_at)
    return await asks.listed(lambda view: view.search(**body.arguments()), fresh=True)


@router.post("/recall", summary="Recall", response_model=Recall)
async def recall(asks: Asks, body: Recalling) -> Response:
    """The few passages and paths that answer a question, packed for a model."""
    asks.at(body.as_of, body.known_at)
    return await asks.answer(
        lambda view: asks.executor.told(view.recall(**body.arguments())), fresh=True
    )


@router.post("/ask", summary="Ask", response_model=Answer)
async def ask(asks: Asks, body: Recalling) -> Response:
    """The sentences that answer a question, each with the passage it stands in."""
    asks.at(body.as_of, body.known_at)
    return await asks.answer(
        lambda view: asks.executor.told(view.ask(**body.arguments())), fresh=True
    )


@router.post("/rank", summary="Rank passages", response_model=Page[Hit])
async def rank(asks: Asks, body: Rank) -> Response:
    """Passages in the order of one system of the evaluation ladder, without a budget."""
    asks.at(body.as_of, body.known_at)
    return await asks.listed(lambda view: view.rank(**body.arguments()), fresh=True)
