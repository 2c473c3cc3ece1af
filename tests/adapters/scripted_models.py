"""Models that need no network, one for each framework that brings none of its own.

Each says what a tool or the conversation told it. `FOR` maps an adapter to the code that makes its
model, for the examples in the docs.
"""

from __future__ import annotations

from pathlib import Path

OPENAI_AGENTS = """
from agents import Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

class Scripted(Model):
    async def get_response(self, *_, input, **given):
        text = f"I read {len(input)} messages."
        part = ResponseOutputText(text=text, type="output_text", annotations=[])
        said = ResponseOutputMessage(
            id="m", content=[part], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **given):
        raise NotImplementedError

set_tracing_disabled(True)
model = Scripted()
"""
PYDANTIC_AI = """
from pydantic_ai import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(str(last.content))])
    return ModelResponse([ToolCallPart("recall", {"question": str(last.content)})])

model = FunctionModel(answer)
"""
GOOGLE_ADK = """
from google.adk.models import BaseLlm, LlmResponse
from google.genai.types import Content, Part

class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts
        part = Part.from_function_call(name="load_memory", args={"query": "boat"})
        if last[0].function_response:
            part = Part(text=str(last[0].function_response.response))
        yield LlmResponse(content=Content(role="model", parts=[part]))

model = Scripted(model="scripted")
"""
CLAUDE = f"""
import functools, pathlib, sys
import claude_agent_sdk

program = pathlib.Path("claude")
scripted = {str(Path(__file__).parent / "scripted_claude.py")!r}
program.write_text(f'#!/bin/sh\\nexec {{sys.executable}} {{scripted}} "$@"\\n')
program.chmod(0o755)
claude_agent_sdk.ClaudeAgentOptions = functools.partial(
    claude_agent_sdk.ClaudeAgentOptions, cli_path=program.absolute()
)
"""
FOR = {
    "claude_agent_sdk": CLAUDE,
    "google_adk": GOOGLE_ADK,
    "openai_agents": OPENAI_AGENTS,
    "pydantic_ai": PYDANTIC_AI,
}
