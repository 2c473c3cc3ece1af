"""The same code on a file and on a server: only the address changes.

Starts a server of its own on a unix socket. Run it: python examples/client.py
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hades

SERVE = "from hades.cli import main; main()"


def use(memory: hades.Memory) -> None:
    """What an application does with its memory, wherever that is."""
    with memory.batch():
        memory.remember("design/approach_x", "Rejected: it triggers Bug Y.", valid_from="2024-01")
        memory.remember("bugs/bug_y", "Bug Y corrupts data on restart.", valid_from="2024-01")
        memory.relate("design/approach_x", "rejected_because", "bugs/bug_y", valid_from="2024-01")
    memory.change_fact(
        "design/approach_x",
        "rejected_because",
        new_relation="viable_after_fix",
        content="Viable: Bug Y is fixed.",
        at="2024-02-20",
    )
    print(f"{type(memory).__name__}: {memory.get('design/approach_x').content}")
    print(f"   in January: {memory.at('2024-01-15').get('design/approach_x').content}")
    print(f"   asked:      {memory.ask('What does Bug Y do?')}")
    try:
        memory.get("nothing")
    except hades.NotFound as error:
        print(f"   an error:   {error}")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server that runs as long as this is open."""
    command = [sys.executable, "-c", SERVE, "serve", "--memory", str(folder / "served.hades")]
    command += ["--no-tcp", "--rw-socket", str(folder / "rw.sock"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it says where it listens once it does
        try:
            yield f"unix://{folder}/rw.sock"
        finally:
            process.terminate()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with hades.open(Path(folder) / "embedded.hades") as memory:
            use(memory)
        with served(Path(folder)) as address, hades.open(address) as memory:
            use(memory)


if __name__ == "__main__":
    main()
