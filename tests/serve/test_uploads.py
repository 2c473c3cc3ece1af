"""Files from elsewhere: nothing in an archive is trusted."""

from __future__ import annotations

import gzip
import io
import resource
import stat
import tarfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.serve import uploads
from hades.serve.pool import Overloaded
from hades.serve.problems import TooLarge
from hades.serve.uploads import Uploads, safe_parts, unpack


def tar_of(*files: tuple[str, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def special(name: str, kind: bytes, target: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        tar.addfile(member)
    return packed.getvalue()


@contextmanager
def small_files(bytes_at_most: int) -> Iterator[None]:
    """While no file of this process may grow further: the kernel refuses it as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def unpacked(folder: Path, archive: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    (folder / "sent.tar").write_bytes(archive)
    skipped = unpack(folder / "sent.tar", folder / "into")
    files = sorted(p.relative_to(folder / "into").as_posix() for p in (folder / "into").rglob("*"))
    return files, skipped


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_files_are_put_below_the_folder(tmp_path: Path, mode: str) -> None:
    archive = tar_of(("a.md", b"A"), ("./sub/b.md", b"B"), mode=mode)
    assert unpacked(tmp_path, archive) == (["a.md", "sub", "sub/b.md"], [])
    assert (tmp_path / "into/sub/b.md").read_bytes() == b"B"


TRICKS = ["../a", "/etc/passwd", "a/../../b", "..", "a\\..\\b", "C:\\a", "x" * 300, "a/" * 60 + "b"]


def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    for name in (*TRICKS, "", ".", "a\0b", "\ud800"):
        with pytest.raises(hades.InvalidInput):
            safe_parts(name)
    for number, name in enumerate(TRICKS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(hades.InvalidInput):
            unpacked(folder, tar_of((name, b"x")))
        outside = [path for path in folder.rglob("*") if path.is_file()]
        assert outside == [folder / "sent.tar"], name


@given(st.text(max_size=30))
def test_whatever_is_not_refused_stays_below(name: str) -> None:
    try:
        parts = safe_parts(name)
    except hades.InvalidInput:
        return
    root = Path("/root")
    assert root in root.joinpath(*parts).parents
    assert ".." not in parts


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "/etc/passwd"),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_links_and_devices_are_passed_over(tmp_path: Path, kind: bytes, target: str) -> None:
    files, skipped = unpacked(tmp_path, special("trap", kind, target))
    assert files == []
    assert skipped == [("trap", "Only files are ingested, no links or devices.")]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    link = special("dir", tarfile.SYMTYPE, "/tmp")[: 512 * 1]
    files, _ = unpacked(tmp_path, link + tar_of(("dir/evil", b"x")))
    assert files == ["dir", "dir/evil"]
    assert not (tmp_path / "into/dir").is_symlink()


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="Two files"):
        unpacked(tmp_path, tar_of(("a", b"1"), ("a", b"2")))
    (tmp_path / "into").rename(tmp_path / "before")
    with pytest.raises(hades.InvalidInput, match="Two files"):
        unpacked(tmp_path, tar_of(("a", b"1"), ("a/b", b"2")))


@pytest.mark.parametrize(
    "archive",
    [b"", b"no tar at all", b"\x1f\x8bno gzip", tar_of(("a", b"x" * 5000))[:2000]],
)
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, archive: bytes) -> None:
    with pytest.raises(hades.InvalidInput, match="not a complete tar"):
        unpacked(tmp_path, archive)


def test_bytes_are_counted_as_they_come_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "UNPACKED_BYTES_AT_MOST", 100_000)
    monkeypatch.setattr(uploads, "FILES_AT_MOST", 3)
    bomb = gzip.compress(tar_of(("zeros", bytes(5_000_000))))
    with pytest.raises(TooLarge, match="send them in parts"):
        unpacked(tmp_path, bomb)
    (tmp_path / "into").rename(tmp_path / "before")
    with pytest.raises(TooLarge, match="files"):
        unpacked(tmp_path, tar_of(*((f"f{n}", b"x") for n in range(4))))


def test_a_header_that_never_ends_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "UNPACKED_BYTES_AT_MOST", 100_000)
    monkeypatch.setattr(uploads, "FILES_AT_MOST", 3)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a")
        member.pax_headers = {"comment": "x" * 3_000_000}
        tar.addfile(member)
    with pytest.raises(TooLarge):
        unpacked(tmp_path, gzip.compress(packed.getvalue()))


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_a_long_header_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, 64 * 2**20
    packed = gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + b"a" * header.size, 1)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="header"):
            unpacked(tmp_path, packed)
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_headers_upon_headers_are_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = b"L", 1
    block = header.tobuf(tarfile.USTAR_FORMAT) + b"a".ljust(512, b"\0")
    with pytest.raises(hades.InvalidInput):
        unpacked(tmp_path, block * 1000)


def test_links_count_and_not_all_of_them_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SKIPPED_NAMED_AT_MOST", 2)
    link = special("trap", tarfile.SYMTYPE, "x")[:512]
    _, skipped = unpacked(tmp_path, link * 5 + bytes(1024))
    assert [name for name, _ in skipped] == ["trap", "trap", "… and 3 more"]
    (tmp_path / "into").rename(tmp_path / "before")
    monkeypatch.setattr(uploads, "FILES_AT_MOST", 4)
    with pytest.raises(TooLarge, match="files"):
        unpacked(tmp_path, link * 5 + bytes(1024))


def test_a_path_longer_than_file_systems_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="is too long"):
        unpacked(tmp_path, tar_of(("/".join(["x" * 200] * 25), b"x")))


def test_what_a_killed_server_left_is_removed_but_nothing_of_a_running_one(tmp_path: Path) -> None:
    folder = tmp_path / "m.hades.uploads"
    first = Uploads(folder)
    ours = first.new_folder()
    second = Uploads(folder)
    assert ours.is_dir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "left").mkdir()
    (folder / "left" / "secret.md").write_text("x")
    for one in (first, second):
        one.close()  # as when its process ends
    Uploads(folder).close()
    assert list(folder.iterdir()) == []


def test_a_server_without_a_folder_takes_nothing() -> None:
    with pytest.raises(hades.Unavailable, match="accepts no files"):
        Uploads(None).new_folder()


def test_few_files_are_received_at_once() -> None:
    sent = Uploads(None)
    refused = pytest.raises(Overloaded, match="being sent")
    with sent.receiving("ann"), sent.receiving("ann"):
        with refused, sent.receiving("ann"):
            pass
        with sent.receiving("bob"):
            pass
    with sent.receiving("ann"):
        pass
