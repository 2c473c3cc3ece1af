"""Every endpoint, called with what its description allows and with what it forbids.

`make fuzz` makes thousands of calls; the suite makes
a few hundred of them, always the same. Behind the real middleware, with a key that may do all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from making import remember_story
from rest_making import serving

import hades
from hades.serve.app import build
from hades.serve.auth import middleware
from hades.serve.auth.audit import Audit
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.auth.limits import Limits
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import ListenerKind
from hades.serve.executor import Executor

HERE = ListenerKind("http", Role.ADMIN, by_key=True, local=True)
"""By a key, as far as the admin socket goes."""
UNTRIED = ("/v1/admin/jobs",)
"""Would take in whatever lies at a path of this machine."""
NOT_CHECKED = (
    "positive_data_acceptance",
    "ensure_resource_availability",
    "not_a_server_error",
    "use_after_free",
)
"""Times and the like have a grammar that a description of strings cannot tell; an overload may say
so (`never_fails` looks at the rest); and a cancelled job can still be read."""


REFUSALS = [*map(str, (400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429)), "5xx"]
"""The answers to a wrong request; 413 is not among those of schemathesis."""


def fuzz(folder: Path, examples: int, phases: str, seed: int = 1) -> subprocess.CompletedProcess:
    """Call everything; what schemathesis says."""
    path = folder / "fuzzed.hades"
    with hades.open(path) as memory:
        remember_story(memory)
    keys, audit = Keys(folder / "keys"), Audit(folder / "audit")
    _, words = keys.create("fuzz", Role.ADMIN)
    executor = Executor.open(path)
    middleware.WRONG_KEYS_PER_S = 0  # it tries many
    limits = Limits(hosts=None)
    guarded = protected(build(executor, audit=audit), keys, audit=audit, limits=limits)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["hades.listener"] = HERE
        await guarded(scope, receive, send)

    command = [str(Path(sys.executable).parent / "schemathesis"), "run", "--no-color"]
    command += ["--phases", phases, "--seed", str(seed), "--max-examples", str(examples)]
    command += ["--exclude-checks", ",".join(NOT_CHECKED), "-H", f"Authorization: Bearer {words}"]
    command += ["--warnings", "off", "--no-shrink"]
    for one in UNTRIED:
        command += ["--exclude-path", one]
    refusals = f"negative_data_rejection.expected-statuses = {REFUSALS}"
    (folder / "schemathesis.toml").write_text(f"[checks]\n{refusals}\n")
    hooks = {"SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": _import_path()}
    with serving(executor, app) as url:
        done = subprocess.run(
            [*command, f"{url}/openapi.json"],
            cwd=folder,
            env={**os.environ, **hooks},
            capture_output=True,
            text=True,
        )
    audit.close()
    return done


def _import_path() -> str:
    return os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        phases = "examples,coverage,fuzzing,stateful"
        ended = fuzz(Path(scratch), int(sys.argv[1]), phases, int((*sys.argv, "", "1")[2] or 1))
    print(ended.stdout, ended.stderr)
    sys.exit(ended.returncode)
