"""Language models: which there are, whether they answer, and what they cost so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hades.models.chat import ModelReport, model_reports
from hades.operations.declare import Param, operation

if TYPE_CHECKING:
    from hades.memory import View


@operation("GET", "/models")
def models(
    view: View,
    *,
    check: Annotated[
        bool,
        Param("Ask each for one word; this may cost.", flag="--check", calls_model=True),
    ] = False,
) -> list[ModelReport]:
    """The language models of the settings, and what this process or server used of each."""
    return model_reports(check=check)
