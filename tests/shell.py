"""The command line as tests use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from hades.cli import app_for


def run_hades(*words: str, **options: Any) -> Result:
    """Run `hades …` in this process, with options of `CliRunner.invoke`."""
    return CliRunner().invoke(app_for(list(words[:1])), list(words), **options)


class Shell:
    """Runs `hades …` on one memory."""

    def __init__(self, path: Path | str) -> None:
        self.path = path

    def run(self, *words: str, stdin: str | bytes | None = None) -> Result:
        return run_hades(*words, "--memory", str(self.path), input=stdin)

    def __call__(self, *words: str, stdin: str | None = None) -> str:
        result = self.run(*words, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.output

    def alone(self, *words: str) -> str:
        """A command that has no memory, or is given one by its own arguments."""
        result = run_hades(*words)
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def refused(self, *words: str, stdin: str | bytes | None = None) -> str:
        result = self.run(*words, stdin=stdin)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        assert result.stderr.startswith("hades: ")
        assert result.stderr.count("\n") == 1
        return result.stderr
