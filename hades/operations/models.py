"""Language models: their settings, whether they answer, and their use so far."""

from __future__ import annotations

from typing import Annotated

from hades.errors import HadesError
from hades.models.chat import ChatModel, ModelReport, ModelTotals, totals
from hades.operations.declare import Param, operation
from hades.operations.inside import Inside


@operation("GET", "/models")
def models(
    inside: Inside,
    *,
    check: Annotated[
        bool,
        Param(
            "Ask each model for one word; this may cost money.", flag="--check", calls_model=True
        ),
    ] = False,
) -> list[ModelReport]:
    """List the language models of the settings and their use."""
    reports = []
    for model in inside.settings.all_models():
        answers = None
        why = ""
        if check:
            try:
                answers = bool(ChatModel([model]).complete("Be brief.", "Say yes.", max_tokens=4))
            except HadesError as error:
                answers = False
                why = str(error)
        used = totals().get(model.name, ModelTotals())
        about = model.name, model.model, model.input_price, model.output_price, model.context_tokens
        reports.append(ModelReport(*about, used, answers, why))
    return reports
