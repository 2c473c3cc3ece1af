"""The code reader: symbols, blocks and links of eight languages, and what must always hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.ingest.document import Block, Document, Origin, Unreadable

pytest.importorskip("tree_sitter")

from hades.ingest.readers import reader_for
from hades.ingest.readers.code.languages import SUFFIXES, _grammar_and_query
from hades.ingest.readers.code.naming import is_distinctive
from hades.ingest.readers.code.reader import read_code


def read(topic: str, text: str) -> Document:
    document = read_code(text.encode(), topic)
    check(document)
    return document


def check(document: Document) -> None:
    """Blocks are in order, apart, and leave out white space only; links say where they stand."""
    at = 0
    for block in document.blocks:
        assert at <= block.start < block.end
        assert not document.content[at : block.start].strip()
        at = block.end
    assert not document.content[at:].strip()
    assert all(0 <= link.block < len(document.blocks) for link in document.links)
    qualified = {link.target for link in document.links if link.relation == "contains"}
    assert qualified <= set(names(document))


def names(document: Document) -> list[str]:
    return [name.text for block in document.blocks for name in block.names]


def links(document: Document, relation: str) -> list[tuple[str, str]]:
    return [(li.source, li.target) for li in document.links if li.relation == relation]


def block_of(document: Document, name: str) -> Block:
    return next(b for b in document.blocks if name in (n.text for n in b.names))


def text_of(document: Document, name: str) -> str:
    block = block_of(document, name)
    return document.content[block.start : block.end]


PYTHON = '''"""About the module."""
import os
import numpy as np
from ..core import Base, tools as t
from .near import (
    one,  # the first
    two as zwei,
)

LIMIT = 3

# How much is left.
@np.vectorize
def remaining(used: int,
              limit: int = LIMIT) -> int:
    """What is left."""
    return zwei(limit) - os.path.getsize(used)


class Engine(Base, typing.Generic[T]):
    """It runs."""

    speed: int = 0

    def close_all(self):
        self.wait_for(remaining(1))
        self.unknown()
        other.wait_for()

    # Waits.
    def wait_for(self, n):
        return t.sleep(n)


print(remaining(2))
'''


def test_python() -> None:
    document = read("src/shop/store/engine.py", PYTHON)

    assert document.kind == "code"
    assert document.title == "engine.py"
    assert document.content == PYTHON
    assert document.metadata == {"language": "python"}
    assert [name.text for name in document.names] == ["shop.store.engine"]
    assert names(document) == [
        "shop.store.engine.remaining",
        "remaining",
        "shop.store.engine.Engine",
        "Engine",
        "shop.store.engine.Engine.close_all",
        "close_all",
        "shop.store.engine.Engine.wait_for",
        "wait_for",
    ]
    assert {(n.origin, n.kind) for b in document.blocks for n in b.names} == {
        (Origin.SYMBOL, "code_symbol")
    }
    path = "src/shop/store/engine.py"
    assert [(block.heading, block.whole) for block in document.blocks] == [
        (path, False),
        (f"{path} > remaining(used: int, limit: int = LIMIT) -> int", True),
        (f"{path} > Engine(Base, typing.Generic[T])", False),
        (f"{path} > Engine.close_all(self)", True),
        (f"{path} > Engine.wait_for(self, n)", True),
        (path, False),
    ]
    assert text_of(document, "remaining").startswith("# How much is left.\n@np.vectorize\ndef")
    assert text_of(document, "Engine").endswith("speed: int = 0")
    assert text_of(document, "wait_for").startswith("# Waits.\n    def wait_for(self, n):")


def test_python_links() -> None:
    document = read("src/shop/store/engine.py", PYTHON)
    here, topic = "shop.store.engine", "topic:src/shop/store/engine.py"

    assert links(document, "contains") == [
        (topic, f"{here}.remaining"),
        (topic, f"{here}.Engine"),
        (f"{here}.Engine", f"{here}.Engine.close_all"),
        (f"{here}.Engine", f"{here}.Engine.wait_for"),
    ]
    assert links(document, "imports") == [
        (topic, target)
        for target in [
            "os",
            "numpy",
            "shop.core",
            "shop.core.Base",
            "shop.core.tools",
            "shop.store.near",
            "shop.store.near.one",
            "shop.store.near.two",
        ]
    ]
    assert links(document, "extends") == [
        (f"{here}.Engine", "shop.core.Base"),
        (f"{here}.Engine", "typing.Generic"),
    ]
    assert links(document, "calls") == [
        (f"{here}.remaining", "shop.store.near.two"),
        (f"{here}.remaining", "os.path.getsize"),
        (f"{here}.Engine.close_all", f"{here}.Engine.wait_for"),
        (f"{here}.Engine.close_all", f"{here}.remaining"),
        (f"{here}.Engine.close_all", "shop.core.Base.unknown"),  # what is not here is inherited
        (f"{here}.Engine.close_all", "wait_for"),
        (f"{here}.Engine.wait_for", "shop.core.tools.sleep"),
    ]
    guess = next(link for link in document.links if link.target == "wait_for")
    assert (guess.weight, guess.evidence) == (0.5, "other.wait_for")
    assert document.blocks[guess.block] == block_of(document, "close_all")


def test_calls_follow_bases_of_the_same_file() -> None:
    document = read(
        "a.py",
        "class Base:\n    def lift_up(self): pass\n\n"
        "class Middle(Base): pass\n\n"
        "class Crane(Middle):\n    def work_on(self): self.lift_up()\n",
    )
    assert links(document, "calls") == [("a.Crane.work_on", "a.Base.lift_up")]


def test_javascript() -> None:
    document = read(
        "packages/ui/src/list.jsx",
        """import React, { useState as hold } from 'react';
const { drop, pick: choose } = require('../lib/hands');

/** A list. */
export const Listing = async (items) => { hold(1); return <Row key={choose(items)} />; };

export default function Row({ a }) { return React.memo(a); }

class Tray extends Listing {
  #depth = 1;
  // Turns.
  turnAround() { this.#refill(); new Row(); }
  #refill() { super.nothing(); }
  handleClick = (e) => { this.turnAround(); };
}
exports.putBack = function (x) { drop(x); };
""",
    )
    assert [n for n in names(document) if n.startswith("ui.")] == [
        "ui.list.Listing",
        "ui.list.Row",
        "ui.list.Tray",
        "ui.list.Tray.turnAround",
        "ui.list.Tray.refill",
        "ui.list.Tray.handleClick",
        "ui.list.putBack",
    ]
    assert block_of(document, "Listing").heading == "packages/ui/src/list.jsx > Listing(items)"
    assert text_of(document, "Listing").startswith("/** A list. */\nexport const Listing")
    assert text_of(document, "turnAround").startswith("// Turns.\n  turnAround()")
    assert text_of(document, "Tray").startswith("class Tray extends Listing {\n  #depth = 1;")
    assert [target for _, target in links(document, "imports")] == [
        "react",
        "react.useState",
        "ui.hands",
        "ui.hands.drop",
        "ui.hands.pick",
    ]
    assert links(document, "extends") == [("ui.list.Tray", "ui.list.Listing")]
    assert set(links(document, "calls")) == {
        ("ui.list.Listing", "react.useState"),
        ("ui.list.Listing", "ui.list.Row"),
        ("ui.list.Listing", "ui.hands.pick"),
        ("ui.list.Row", "react.memo"),
        ("ui.list.Tray.turnAround", "ui.list.Tray.refill"),
        ("ui.list.Tray.turnAround", "ui.list.Row"),
        ("ui.list.Tray.handleClick", "ui.list.Tray.turnAround"),
        ("ui.list.putBack", "ui.hands.drop"),
    }


@pytest.mark.parametrize("suffix", ["ts", "tsx", "mts"])
def test_typescript(suffix: str) -> None:
    document = read(
        f"app/shape.{suffix}",
        """import type { Point } from './point';
import * as geo from "../geo/index";
export interface Shape extends Point { area(): number; }
@sealed()
export abstract class Circle<T> extends geo.Round<T> implements Shape {
  private radius = 1;
  /** Its area. */
  @cached() area(): number { return geo.square(this.radius); }
  abstract grow(by: number): void;
}
export function scaled(a: string): string;
export function scaled(a: number): number;
export function scaled(a: any): any { return a; }
namespace Inner { export function hidden() { scaled(1); } }
type Pair = [number, number];
enum Colour { Red }
""",
    )
    assert document.metadata == {"language": "typescript"}
    assert [n for n in names(document) if n.startswith("app.")] == [
        "app.shape.Shape",
        "app.shape.Shape.area",
        "app.shape.Circle",
        "app.shape.Circle.area",
        "app.shape.Circle.grow",
        "app.shape.scaled",
        "app.shape.scaled#2",
        "app.shape.scaled#3",
        "app.shape.Inner.hidden",
        "app.shape.Pair",
        "app.shape.Colour",
    ]
    assert text_of(document, "Circle").startswith("@sealed()\nexport abstract class Circle<T>")
    method = block_of(document, "app.shape.Circle.area")
    assert method.heading == f"app/shape.{suffix} > Circle.area(): number"
    assert document.content[method.start :].startswith("/** Its area. */\n  @cached() area()")
    assert set(links(document, "extends")) == {
        ("app.shape.Shape", "app.point.Point"),
        ("app.shape.Circle", "geo.Round"),
        ("app.shape.Circle", "app.shape.Shape"),
    }
    assert ("app.shape.Circle.area", "geo.square") in links(document, "calls")
    assert ("app.shape.Inner.hidden", "app.shape.scaled") in links(document, "calls")


def test_go() -> None:
    document = read(
        "net/http/server.go",
        """// Package http serves.
package http

import (
\tf "fmt"
\t"example.com/router/v2"
)

// Server serves.
type Server struct {
\tBase
\tport int
}

// Serve it.
func (s *Server) Serve(l int) error { f.Println(l); s.acceptOne(); return router.New(l) }

func (s *Server) acceptOne() { prepareAll() }

func prepareAll() {}

func (o Other[T]) Finish() {}
""",
    )
    assert [n for n in names(document) if "/" in n] == [
        "net/http.Server",
        "net/http.Server.Serve",
        "net/http.Server.acceptOne",
        "net/http.prepareAll",
        "net/http.Other.Finish",
    ]
    assert text_of(document, "Serve").startswith("// Serve it.\nfunc (s *Server) Serve(l int)")
    assert block_of(document, "Serve").heading == "net/http/server.go > Server.Serve(l int) error"
    assert [target for _, target in links(document, "imports")] == [
        "fmt",
        "example.com/router/v2",
    ]
    assert links(document, "extends") == [("net/http.Server", "Base")]
    assert ("net/http.Server", "net/http.Server.Serve") in links(document, "contains")
    assert ("topic:net/http/server.go", "net/http.Other.Finish") in links(document, "contains")
    assert links(document, "calls") == [
        ("net/http.Server.Serve", "fmt.Println"),
        ("net/http.Server.Serve", "net/http.Server.acceptOne"),
        ("net/http.Server.Serve", "example.com/router/v2.New"),
        ("net/http.Server.acceptOne", "net/http.prepareAll"),
    ]


def test_rust() -> None:
    document = read(
        "disk-cache/src/io/mod.rs",
        """//! Reads and writes.

use std::{fs::{self, File as F}, io::*};
use crate::page::Page;
use super::flush_all;

/// A pool.
#[derive(Debug)]
pub struct Pool<T>(T);

impl<T> Evict for Pool<T> {
    /// Makes room.
    fn evict(&self) -> usize { self.shrink_by(1); Self::shrink_by(2); fs::read("x"); flush_all() }
    fn shrink_by(&self, n: usize) {}
}

impl Evict for Page { fn evict(&self) -> usize { crate::log::note() } }

pub trait Evict: Clone { fn evict(&self) -> usize; }

mod tests { fn evicts() { helps() } fn helps() {} }
""",
    )
    assert [n for n in names(document) if "::" in n] == [
        "disk_cache::io::Pool",
        "disk_cache::io::Pool::evict",
        "disk_cache::io::Pool::shrink_by",
        "disk_cache::page::Page::evict",
        "disk_cache::io::Evict",
        "disk_cache::io::Evict::evict",
        "disk_cache::io::tests::evicts",
        "disk_cache::io::tests::helps",
    ]
    assert text_of(document, "Pool").startswith("/// A pool.\n#[derive(Debug)]\npub struct Pool")
    assert text_of(document, "disk_cache::io::Pool::evict").startswith("/// Makes room.\n    fn")
    assert block_of(document, "evict").heading.endswith("> Pool::evict(&self) -> usize")
    assert [target for _, target in links(document, "imports")] == [
        "std::fs",
        "std::fs::File",
        "std::io",
        "disk_cache::page::Page",
        "disk_cache::flush_all",
    ]
    assert links(document, "extends") == [
        ("disk_cache::io::Pool", "disk_cache::io::Evict"),
        ("disk_cache::page::Page", "disk_cache::io::Evict"),
        ("disk_cache::io::Evict", "Clone"),
    ]
    assert links(document, "calls") == [
        ("disk_cache::io::Pool::evict", "disk_cache::io::Pool::shrink_by"),
        ("disk_cache::io::Pool::evict", "std::fs::read"),
        ("disk_cache::io::Pool::evict", "disk_cache::flush_all"),
        ("disk_cache::page::Page::evict", "disk_cache::log::note"),
        ("disk_cache::io::tests::evicts", "disk_cache::io::tests::helps"),
    ]


def test_java() -> None:
    document = read(
        "src/main/java/org/shop/Cart.java",
        """package org.shop;

import org.money.Price;
import static org.money.Rates.exchange;
import java.util.*;

/** A cart. */
@Entity
public class Cart<T> extends Basket<T> implements Payable {
  private int size;
  /** Empties it. */
  @Override public void discard() { refill(1); this.refill("x"); Price.of(exchange(2)); }
  void refill(int a) {}
  void refill(String a) {}
  class Slot { void squeeze() { discard(); } }
}
interface Payable { Price total(); }
""",
    )
    assert [n for n in names(document) if n.startswith("org.")] == [
        "org.shop.Cart",
        "org.shop.Cart.discard",
        "org.shop.Cart.refill",
        "org.shop.Cart.refill#2",
        "org.shop.Cart.Slot",
        "org.shop.Cart.Slot.squeeze",
        "org.shop.Payable",
        "org.shop.Payable.total",
    ]
    assert text_of(document, "Cart").startswith("/** A cart. */\n@Entity\npublic class Cart<T>")
    assert text_of(document, "discard").startswith("/** Empties it. */\n  @Override public void")
    assert block_of(document, "org.shop.Cart.refill#2").heading.endswith("> Cart.refill(String a)")
    assert [target for _, target in links(document, "imports")] == [
        "org.money.Price",
        "org.money.Rates.exchange",
        "java.util",
    ]
    assert links(document, "extends") == [
        ("org.shop.Cart", "Basket"),
        ("org.shop.Cart", "org.shop.Payable"),
    ]
    assert set(links(document, "calls")) == {
        ("org.shop.Cart.discard", "org.shop.Cart.refill"),
        ("org.shop.Cart.discard", "org.money.Price.of"),
        ("org.shop.Cart.discard", "org.money.Rates.exchange"),
        ("org.shop.Cart.Slot.squeeze", "org.shop.Cart.discard"),
    }


def test_c() -> None:
    document = read(
        "src/net/wire.c",
        """#include "wire.h"
#include <sys/socket.h>
#define ROUND_UP(a) ((a) + 1)
typedef struct frame { int length; } Frame;

/* Sends one. */
static Frame *
send_frame(int a) { return encode_frame(ROUND_UP(a)); }
Frame *encode_frame(int a) { return 0; }
int main(void) { send_frame(1); }
""",
    )
    assert names(document) == ["ROUND_UP", "Frame", "send_frame", "encode_frame", "wire::main"]
    assert [name.text for name in document.names] == ["net/wire.c"]
    assert text_of(document, "send_frame").startswith("/* Sends one. */\nstatic Frame *\nsend")
    assert block_of(document, "send_frame").heading == "src/net/wire.c > send_frame(int a)"
    assert [target for _, target in links(document, "imports")] == ["net/wire.h", "sys/socket.h"]
    assert links(document, "calls") == [
        ("send_frame", "encode_frame"),
        ("send_frame", "ROUND_UP"),
        ("wire::main", "send_frame"),
    ]


@pytest.mark.parametrize("suffix", ["hpp", "h", "cc"])
def test_cpp(suffix: str) -> None:
    document = read(
        f"include/geo/ring.{suffix}",
        """#include "geo/shape.h"
namespace geo::flat {

// A ring.
template <class T>
class Ring : public Shape<T>, private base::Noted {
 public:
  Ring() {}
  ~Ring() { release_all(); }
  void release_all() { this->notify_all(); }
  bool operator==(const Ring& o) const { return true; }
  void notify_all();
};

int& Ring::turns(int x) { release_all(); return spin<int>(x); }
int spin(int x) { return x; }

}  // namespace geo::flat
""",
    )
    assert document.metadata == {"language": "cpp"}
    assert [n for n in names(document) if "::" in n] == [
        "geo::flat::Ring",
        "geo::flat::Ring::Ring",
        "geo::flat::Ring::~Ring",
        "geo::flat::Ring::release_all",
        "geo::flat::Ring::operator==",
        "geo::flat::Ring::turns",
        "geo::flat::spin",
    ]
    assert text_of(document, "Ring").startswith("// A ring.\ntemplate <class T>\nclass Ring")
    assert text_of(document, "spin").endswith("}  // namespace geo::flat")
    assert block_of(document, "turns").heading.endswith("> geo::flat::Ring::turns(int x)")
    assert links(document, "extends") == [
        ("geo::flat::Ring", "Shape"),
        ("geo::flat::Ring", "base::Noted"),
    ]
    assert ("geo::flat::Ring", "geo::flat::Ring::turns") in links(document, "contains")
    assert links(document, "calls") == [
        ("geo::flat::Ring::~Ring", "geo::flat::Ring::release_all"),
        ("geo::flat::Ring::turns", "geo::flat::Ring::release_all"),
        ("geo::flat::Ring::turns", "geo::flat::spin"),
    ]


def test_a_name_defined_again_gets_a_number() -> None:
    source = "try:\n    def load_it(): fast()\nexcept X:\n    def load_it(): slow()\n"
    document = read("a.py", source)
    assert names(document) == ["a.load_it", "load_it", "a.load_it#2", "load_it"]
    assert read("a.py", source) == document


def test_only_a_long_inner_function_stands_for_itself() -> None:
    body = "".join(f"        step_{n}()\n" for n in range(40))
    document = read(
        "m.py",
        f"def outer():\n    def short(): pass\n    def longer():\n{body}    return longer()\n",
    )
    assert [n for n in names(document) if n.startswith("m.")] == ["m.outer", "m.outer.longer"]
    assert [(b.heading, b.whole) for b in document.blocks] == [
        ("m.py > outer()", True),
        ("m.py > outer.longer()", True),
        ("m.py > outer()", False),
    ]
    assert links(document, "contains") == [("topic:m.py", "m.outer"), ("m.outer", "m.outer.longer")]
    assert ("m.outer", "m.outer.longer") in links(document, "calls")


@pytest.mark.parametrize(
    ("topic", "module"),
    [
        ("hades/store/__init__.py", "hades.store"),
        ("./project/src/hades/memory.py", "hades.memory"),
        (r"src\pkg\mod.py", "pkg.mod"),
        ("web/button/index.ts", "web.button"),
        ("web/types.d.ts", "web.types"),
        ("packages/core/src/index.js", "core"),
        ("src/io/disk.rs", "crate::io::disk"),
        ("crates/fast-io/src/lib.rs", "fast_io"),
        ("main.go", "shop"),
        ("include/geo/ring.h", "geo/ring.h"),
    ],
)
def test_a_file_is_named_by_its_path(topic: str, module: str) -> None:
    text = "package shop\n" if topic.endswith(".go") else "// x\n"
    text = "x = 1\n" if topic.endswith(".py") else text
    assert [name.text for name in read(topic, text).names] == [module]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read_code", True),
        ("Ring", True),
        ("größe", True),
        ("main", False),
        ("Get", False),
        ("ab", False),
        ("__repr__", False),
        ("_run", False),
        ("operator==", False),
    ],
)
def test_distinctive_names(name: str, expected: bool) -> None:
    assert is_distinctive(name) is expected


@pytest.mark.parametrize(
    ("topic", "statement", "targets"),
    [
        ("p/q/m.py", "from . import a, b as c", ["p.q", "p.q.a", "p.q.b"]),
        ("p/q/__init__.py", "from .a import *", ["p.q.a"]),
        ("p/m.py", "from ....far import a", ["far", "far.a"]),
        ("p/m.py", "from __future__ import annotations", []),
        ("p/m.py", "import a.b, c as d", ["a.b", "c"]),
        ("w/m.ts", "import x = require('./y');", ["w.y"]),
        ("w/m.js", "export { a, default as b } from '../z.js';", ["z", "z.a"]),
        ("w/m.js", "const fs = require('node:fs');", ["node:fs"]),
        ("w/m.js", "import './side.css';", ["w.side.css"]),
        ("g/m.go", 'import _ "a/b"', ["a/b"]),
        ("src/m.rs", "mod inner;", ["crate::m::inner"]),
        ("src/m.rs", "use self::a::{b, c::{d as _, e}};", ["crate::m::a::b", "crate::m::a::c::d"]),
        ("a/m.cc", '#include "../b/c.h"', ["b/c.h"]),
        ("a/m.cc", "using std::vector;", ["std::vector"]),
        ("a/M.java", "import a . b . C ;", ["a.b.C"]),
    ],
)
def test_imports(topic: str, statement: str, targets: list[str]) -> None:
    found = [target for _, target in links(read(topic, statement + "\n"), "imports")]
    assert found[: len(targets)] == targets
    assert targets or not found


def test_without_the_extra_the_suffixes_are_known_and_reading_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = (
        "import sys; from hades.ingest.readers.code.languages import SUFFIXES; print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tree_sitter" not in out.stdout.split()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    _grammar_and_query.cache_clear()
    reader = reader_for(Path("a.go"))
    assert reader is not None
    with pytest.raises(Unreadable, match=r"the extra `code`: pip install .*\[code\]"):
        reader(b"package p", "a.go")


def test_a_broken_file_gives_what_can_be_parsed() -> None:
    document = read(
        "a.py", "def whole_one():\n    pass\n\ndef broken(:\n\nclass Kept:\n    x = 1\n"
    )
    assert {"whole_one", "Kept"} <= set(names(document))


@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"a\.py is empty"):
        read_code(data, "src/a.py")


def test_binary_and_unknown_languages_are_unreadable() -> None:
    with pytest.raises(Unreadable, match="binary"):
        read_code(b"\x7fELF\0\0", "a.c")
    with pytest.raises(Unreadable, match="no suffix"):
        read_code(b"x", "a.cobol")


def test_line_ends_and_a_byte_order_mark() -> None:
    text = "import os\r\n\r\n# Why.\r\ndef first_one():\r\n    os.stat(1)\r\n\r\nx = 1\r\n"
    document = read_code(b"\xef\xbb\xbf" + text.encode(), "a.py")
    check(document)
    assert document.content == text
    assert text_of(document, "first_one") == "# Why.\r\ndef first_one():\r\n    os.stat(1)"
    assert links(document, "calls") == [("a.first_one", "os.stat")]


def test_spans_are_in_characters() -> None:
    document = read("a.py", "GRÜSSE = '🎉漢'\n\ndef größe_von(ß): pass\n\nclass 漢字類:\n  pass\n")
    assert text_of(document, "größe_von") == "def größe_von(ß): pass"
    assert text_of(document, "漢字類") == "class 漢字類:\n  pass"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("function f(){return 1}" * 2_000, "minified"),
        (f"x = '{'y' * 30_000}'\ndef f(): pass\n", "minified"),
        (("function f(){return 1};" * 20 + "\n") * 50, "minified"),
        ("x = 1\n\n" * 800_000, "huge"),
        ("[\n" * 50_000, "broken"),
    ],
    ids=["one line", "a long line", "long lines", "huge", "broken"],
)
def test_what_is_not_worth_parsing_is_cut_by_lines(text: str, why: str) -> None:
    document = read("a.js", text)
    assert document.metadata == {"language": "javascript", "unparsed": why}
    assert document.blocks
    assert not document.links
    assert not names(document)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("a.py", "x = " + "(\n" * 3_000 + ")\n" * 3_000),
        ("a.js", "function f() {\n" * 3_000 + "}\n" * 3_000),
        ("a.java", "class A {\n" * 2_000 + "}\n" * 2_000),
        ("a.c", "int f() { " + "if (x) {\n" * 5_000 + "}\n" * 5_000 + "}"),
        ("a.rs", "fn f() { x" + "\n.then()" * 5_000 + "}"),
    ],
)
def test_deep_nesting(topic: str, text: str) -> None:
    assert read(topic, text).blocks


WORDS = (
    "def class import from f g A ( ) : { } [ ] , . :: -> = \n \n\n # // /* */ ' \" \\ é 🎉 0 async"
)
soup = st.lists(st.sampled_from([*WORDS.split(" "), " ", "    ", "\r\n", "fn", "func", "type"]))


@given(st.one_of(st.text(), soup.map(" ".join)), st.sampled_from([".py", *SUFFIXES]))
def test_any_text_is_read_or_refused(text: str, suffix: str) -> None:
    data = text.encode()
    try:
        document = read_code(data, f"some/file{suffix}")
    except Unreadable:
        return
    check(document)
    assert read_code(data, f"some/file{suffix}") == document


@given(st.binary(), st.sampled_from(sorted(SUFFIXES)))
def test_any_bytes_are_read_or_refused(data: bytes, suffix: str) -> None:
    with contextlib.suppress(Unreadable):
        check(read_code(data, "x" + suffix))


@pytest.mark.parametrize("module", [json, sqlite3, asyncio, typing], ids=lambda m: m.__name__)
def test_the_standard_library(module: typing.Any) -> None:
    start = Path(module.__file__)
    root = start.parent.parent if start.stem == "__init__" else start.parent
    files = sorted(start.parent.glob("*.py")) if start.stem == "__init__" else [start]
    for file in files:
        document = read_code(file.read_bytes(), str(file.relative_to(root)))
        check(document)
        for block in document.blocks:
            text = document.content[block.start : block.end]
            assert not block.whole or text.startswith(("def ", "async def ", "@", "#"))
            assert not block.whole or block.names
        qualified = [t for _, t in links(document, "contains")]
        assert len(qualified) == len(set(qualified))


def test_names_of_the_standard_library() -> None:
    file = Path(json.__file__).parent / "decoder.py"
    document = read_code(file.read_bytes(), "lib/json/decoder.py")
    assert "json.decoder.JSONDecoder.raw_decode" in names(document)
    calls = links(document, "calls")
    decode = "json.decoder.JSONDecoder.decode"
    assert (decode, "json.decoder.JSONDecoder.raw_decode") in calls
    assert (decode, "json.decoder.JSONDecodeError") in calls
    assert ("json.decoder.JSONDecodeError", "ValueError") in links(document, "extends")
