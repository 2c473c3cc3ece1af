"""Keys: only their hashes are kept, privately, and none is lost."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.keys import Keys, keys_beside
from tests.shell import run_hades


@pytest.fixture
def keys(path: Path) -> Keys:
    return Keys(keys_beside(path))


def test_a_key_is_found_by_its_words_only(keys: Keys) -> None:
    key, token = keys.create("laptop", Role.WRITER, ["work", "home"])
    found = keys.find(token)
    assert found is not None
    assert found.caller == Caller("key:laptop", Role.WRITER, frozenset({"home", "work"}))
    for wrong in ("", "hades_", token[:-1], token + "0", f"hades_{key.id}_", key.digest, "é\udcff"):
        assert keys.find(wrong) is None


def test_the_file_is_private_and_has_no_key_in_it(keys: Keys) -> None:
    before = os.umask(0)
    _, token = keys.create("laptop", Role.ADMIN)
    os.umask(before)
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert token.rpartition("_")[2] not in keys.path.read_text()
    assert [one.name for one in keys.path.parent.iterdir()] == [keys.path.name]


def test_a_file_others_may_read_is_refused(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.ADMIN)
    keys.path.chmod(0o640)
    for call in (keys.listed, lambda: keys.find(token), lambda: keys.create("a", Role.READER)):
        with pytest.raises(hades.Denied, match="chmod 600"):
            call()


def test_a_damaged_file_lets_nobody_in(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.ADMIN)
    for content in ("", "[]", '{"keys": [{}]}', '{"keys": [{"role": "god"}]}'):
        keys.path.write_text(content)
        with pytest.raises(hades.Corrupt, match="not a key file"):
            keys.find(token)


def test_names_are_told_apart(keys: Keys) -> None:
    first, _ = keys.create("laptop", Role.READER)
    with pytest.raises(hades.Conflict, match="already"):
        keys.create("laptop", Role.ADMIN)
    assert keys.revoke(first.id).name == "laptop"
    with pytest.raises(hades.NotFound, match="no key"):
        keys.revoke("laptop")


def test_keys_made_at_once_are_all_there(keys: Keys) -> None:
    def make(number: int) -> None:
        Keys(keys.path).create(f"key-{number}", Role.READER)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys.listed()) == 12


def test_writing_down_their_use_brings_no_revoked_key_back(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.READER)
    keys.create("phone", Role.READER)
    assert keys.find(token) is not None
    Keys(keys.path).revoke("laptop")
    keys.flush()
    assert [key.name for key in keys.listed()] == ["phone"]


def test_the_commands(path: Path) -> None:
    def hades_(*words: str) -> str:
        done = run_hades("keys", *words, "--memory", str(path))
        assert done.exit_code == 0, done.output
        return done.stdout

    made = json.loads(
        hades_("create", "laptop", "--role", "writer", "--space", "a", "--space", "b", "--json")
    )
    assert (made["role"], made["spaces"]) == ("writer", ["a", "b"])
    assert hades_("create", "phone").startswith("hades_")
    listed = json.loads(hades_("list", "--json"))
    assert [one["name"] for one in listed] == ["laptop", "phone"]
    assert "key" not in listed[0]
    assert "sha256" not in listed[0]
    assert "never" in hades_("list")
    assert json.loads(hades_("revoke", "laptop", "--json"))["name"] == "laptop"
    assert "revoked phone" in hades_("revoke", "phone")
    refused = run_hades("keys", "create", "x", "--role", "god", "-m", str(path))
    assert refused.exit_code == 2


def test_the_last_use_is_the_last_one(keys: Keys) -> None:
    made, token = keys.create("laptop", Role.READER)
    assert keys.find(token) is not None
    (first,) = keys.listed()  # in the process that saw the use, as the page asks
    keys.known(made.id)  # a request of a page that the key signed in
    left = threading.Event()
    writing = threading.Thread(target=keys.flush_until, args=(left,))
    writing.start()
    try:
        for _ in range(600):
            (others,) = Keys(keys.path).listed()  # as another process reads it
            if others.used_at != first.used_at:
                break
            left.wait(0.1)
    finally:
        left.set()
        writing.join()
    assert first.used_at is not None
    assert others.used_at is not None
    assert others.used_at > first.used_at
