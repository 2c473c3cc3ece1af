"""Installation: add the hooks to a client's configuration, and remove exactly them again.

Files and forms are from the clients' documentation (see `docs/hooks.md`). Entries of others stay.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hades.errors import InvalidInput
from hades.hooks import client as hook_client
from hades.serve.config_files import ConfigChange, Program, chosen, encode_config, read_config

SCRIPT = Path(hook_client.__file__).resolve()
_OWN = ("hades", "hooks", "client.py")
_SLACK_S = 2
"""How many seconds longer than the command's own limit the client's program waits."""


@dataclass(frozen=True, slots=True)
class HookClient(Program):
    """A coding agent's program, its files and its names of our events."""

    events: dict[str, tuple[str, ...]] = field(default_factory=dict)
    grouped: bool = True
    """Whether entries are in groups `{"hooks": […]}`."""


_COMMON: dict[str, tuple[str, ...]] = {
    "session-start": ("SessionStart",),
    "prompt": ("UserPromptSubmit",),
    "turn-end": ("Stop",),
    "before-compact": ("PreCompact",),
    "session-end": ("SessionEnd",),
}
CLIENTS = {
    "claude-code": HookClient(
        "Claude Code",
        ".claude/settings.json",
        ".claude/settings.local.json",
        _COMMON | {"tool": ("PostToolUse", "PostToolUseFailure")},
    ),
    "codex": HookClient(
        "Codex", ".codex/hooks.json", ".codex/hooks.json", _COMMON | {"tool": ("PostToolUse",)}
    ),
    "cursor": HookClient(
        "Cursor",
        ".cursor/hooks.json",
        ".cursor/hooks.json",
        {
            "session-start": ("sessionStart",),
            "prompt": ("beforeSubmitPrompt",),
            "turn-end": ("stop",),
            "tool": ("afterFileEdit", "postToolUseFailure"),
        },
        grouped=False,
    ),
}
TOOL_MATCHERS = {
    "PostToolUse": "Edit|MultiEdit|Write|NotebookEdit|apply_patch",
    "PostToolUseFailure": "Bash",
    "postToolUseFailure": "Shell",
}


@dataclass(frozen=True, slots=True)
class InstalledHooks:
    """The hooks in one configuration file."""

    client: str
    file: str
    events: list[str]


def plan_install(
    name: str, *, here: Path | None = None, memory: str = "", tools: bool = False
) -> ConfigChange:
    """Return the change that installs the hooks for a client, in place of older ones of ours."""
    client = chosen(CLIENTS, name)
    file = _file(name, here)
    before, config = read_config(file)
    old = deepcopy(config)
    _removed(config, file)
    entries: dict[str, Any] = {}
    hooks = config.setdefault("hooks", {})
    for event, originals in client.events.items():
        for original in originals if tools or event != "tool" else ():
            entries[original] = [_entry(client, name, event, original, memory)]
            listed = hooks.setdefault(original, [])
            if not isinstance(listed, list):
                raise InvalidInput(f"In {file}, {original!r} is not a list: repair it first.")
            listed.extend(entries[original])
    if not client.grouped:
        config.setdefault("version", 1)
    after = None if config == old else encode_config(config, before)
    return ConfigChange(client.title, file, {"hooks": entries}, before, after)


def plan_uninstall(name: str, *, here: Path | None = None) -> ConfigChange:
    """Return the change that removes our hooks, and nothing else."""
    file = _file(name, here)
    before, config = read_config(file)
    entries = _removed(config, file)
    after = encode_config(config, before) if entries else None
    return ConfigChange(CLIENTS[name].title, file, {"hooks": entries}, before, after)


def installed(here: Path | None = None) -> Iterator[InstalledHooks]:
    """Yield the hooks in the files of this user and of the project `here`."""
    for name in CLIENTS:
        for folder in dict.fromkeys((None, here)):
            change = plan_uninstall(name, here=folder)
            if events := list(change.entries["hooks"]):
                yield InstalledHooks(name, str(change.file), events)


def _file(name: str, here: Path | None) -> Path:
    moved = os.environ.get(hook_client.CONFIG_VARIABLES.get(name, ""), "")
    return chosen(CLIENTS, name).path(here, moved)


def _entry(client: HookClient, name: str, event: str, original: str, memory: str) -> dict[str, Any]:
    words = [sys.executable, "-I", "-S", str(SCRIPT), name, event, *([memory] if memory else [])]
    timeout = round(hook_client.LIMIT_S[event]) + _SLACK_S
    entry: dict[str, Any] = {"command": shlex.join(words), "timeout": timeout}
    matcher = {"matcher": TOOL_MATCHERS[original]} if original in TOOL_MATCHERS else {}
    if client.grouped:
        return matcher | {"hooks": [{"type": "command"} | entry]}
    return entry | matcher


def _removed(config: dict[str, Any], file: Path) -> dict[str, Any]:
    """Remove our entries from a configuration, and return them by event."""
    hooks = config.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(f"In {file}, 'hooks' is not an object: repair it first.")
    removed: dict[str, Any] = {}
    for original, listed in list(hooks.items()):
        if not isinstance(listed, list):
            continue
        kept = []
        for entry in listed:
            rest, own = _without_own(entry)
            removed.setdefault(original, []).extend(own)
            if rest is not None:
                kept.append(rest)
        if not removed.get(original):
            removed.pop(original, None)
        elif kept:
            hooks[original] = kept
        else:
            del hooks[original]
    if removed and not hooks:
        del config["hooks"]
    return removed


def _without_own(entry: Any) -> tuple[Any, list[Any]]:
    """Return an entry without our commands (None if nothing is left), and the part with our
    commands."""
    if not isinstance(entry, dict):
        return entry, []
    if isinstance(inner := entry.get("hooks"), list):
        own = [hook for hook in inner if _is_own(hook)]
        rest = [hook for hook in inner if not _is_own(hook)]
        if not own:
            return entry, []
        return ({**entry, "hooks": rest} if rest else None), [{**entry, "hooks": own}]
    return (None, [entry]) if _is_own(entry) else (entry, [])


def _is_own(hook: Any) -> bool:
    """Return whether a hook runs our client, of this or another installation of HADES."""
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return any(Path(word).parts[-3:] == _OWN for word in words)
