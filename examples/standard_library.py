"""Take in a package of Python's standard library as code, and walk around in it.

The running interpreter's own copy is read: nothing is downloaded, and the answers are
about the version you have.

Run it: python examples/standard_library.py
"""

import json
import tempfile
from pathlib import Path

import hades

PACKAGE = Path(json.__file__).parent


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(Path(folder) / "library.hades") as m,
    ):
        done = m.ingest(PACKAGE)
        spent = sum(done.seconds.values())
        print(f"{done.added} files of {PACKAGE.name}: {m.stats()['chunks']} passages ", end="")
        print(f"in {spent:.1f} s")

        symbols = [e for e in m.entities("json.*") if e.kind == "code_symbol"]
        print(f"\n{len(symbols)} symbols, such as")
        for symbol in symbols[:5]:
            print(f"   {symbol.name}")

        for question in ("turn a Python object into a JSON string", "where does an error stand"):
            hit = m.search(question, 1, kind="code")[0]
            print(f"\n{question}?\n   {hit.chunk.topic}:{hit.line}  {hit.chunk.heading}")

        print("\nnamed together with JSONDecodeError")
        for near in m.related("JSONDecodeError", 5):
            print(f"   {near.name} ({near.count})")

        for relation in ("contains", "imports", "calls"):
            found = m.edges(relation=relation)
            print(f"\n{len(found)} edges {relation}")
            for edge in found[:4]:
                print(f"   {edge}")


if __name__ == "__main__":
    main()
