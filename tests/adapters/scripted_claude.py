"""A program that speaks the protocol of Claude Code and calls the tools it is told to.

The Claude Agent SDK starts it instead of the real one. The prompt is a list of calls in JSON:
`[["recall", {"question": "…"}]]`; any other prompt is recalled. It says the names of all tools and
the results, one line of JSON each.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SERVER = "hades"


def send(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def ask_server(number: int, method: str, params: dict[str, Any]) -> Any:
    """Send a request of MCP to the server in the SDK's process and return its result."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    request = {"subtype": "mcp_message", "server_name": SERVER, "message": message}
    send({"type": "control_request", "request_id": f"r{number}", "request": request})
    while (answer := read())["type"] != "control_response":
        pass
    return answer["response"]["response"]["mcp_response"]["result"]


def say(text: str) -> None:
    content = [{"type": "text", "text": text}]
    message = {"role": "assistant", "model": "scripted", "content": content}
    send({"type": "assistant", "message": message, "session_id": "s"})


def run(calls: list[tuple[str, dict[str, Any]]]) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    ask_server(0, "initialize", {**hello, "clientInfo": {"name": "scripted", "version": "1"}})
    tools = ask_server(1, "tools/list", {})["tools"]
    say(json.dumps(sorted(tool["name"] for tool in tools)))
    for number, (name, arguments) in enumerate(calls, 2):
        called = ask_server(number, "tools/call", {"name": name, "arguments": arguments})
        text = called["content"][0]["text"]
        say(json.dumps([called.get("isError", False), text]))


def main() -> None:
    if "-v" in sys.argv or "--version" in sys.argv:
        print("99.0.0 (Claude Code)")
        return
    while True:
        message = read()
        if message["type"] == "control_request":
            answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            send({"type": "control_response", "response": answer})
        elif message["type"] == "user":
            prompt = message["message"]["content"]
            calls = json.loads(prompt) if prompt[:1] == "[" else None
            run(calls or [("recall", {"question": prompt})])
            result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}
            send({**result, "duration_ms": 1, "duration_api_ms": 1, "session_id": "s"})
            return


if __name__ == "__main__":
    main()
