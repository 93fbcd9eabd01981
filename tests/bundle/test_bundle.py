from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.bundle import manifest
from culvert.bundle.seal import Packing, is_whole, seal
from culvert.bundle.verify import verify
from culvert.bundle.write import bundle
from culvert.errors import UsageError
from culvert.files.folder import OpenFolder
from culvert.files.names import is_inside
from culvert.journal.journal import Journal
from tests.cli import Cli
from tests.compare.runs import STUDY, write_run
from tests.journal.attacks import assign

ZSTD = pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
PACKINGS = [".tar.gz", pytest.param(".tar.zst", marks=ZSTD)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8]}
    return write_run(tmp_path_factory.mktemp("run") / "made", values)


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packed") / "made.tar.gz"
    bundle(run, target)
    return target


@pytest.mark.parametrize("suffix", PACKINGS)
def test_the_same_run_gives_the_same_bytes_and_they_verify(
    run: Path, tmp_path: Path, suffix: str
) -> None:
    first = bundle(run, tmp_path / f"a{suffix}")
    second = bundle(run, tmp_path / f"b{suffix}")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.sha256 == hashlib.sha256(first.path.read_bytes()).hexdigest()
    found = verify(first.path)
    assert (found.problems, found.files) == ((), first.files)


def test_it_holds_journal_study_environment_evidence_and_tables(
    packed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert verify(packed, out).problems == ()
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    wanted = {"journal.sqlite", "study.toml", "study.json", "environment.json", "evidence.jsonl"}
    assert wanted | {"MANIFEST", "tables/summary.csv", "tables/claims.csv"} <= names
    assert (out / "study.toml").read_text() == STUDY
    assert len((out / "evidence.jsonl").read_text().splitlines()) == 4
    with Journal.open(out) as journal:
        assert journal.trials().height == 4
    assert verify(out).problems == ()


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_changed_byte_is_detected(packed: Path, data: st.DataObject) -> None:
    content = bytearray(packed.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    changed = packed.with_name("changed.tar.gz")
    changed.write_bytes(content)
    assert verify(changed).problems


@given(place=st.integers(0, 10_000), added=st.binary(max_size=3))
@settings(max_examples=50, deadline=None)
def test_a_shorter_or_longer_archive_is_detected(packed: Path, place: int, added: bytes) -> None:
    content = packed.read_bytes()
    changed = packed.with_name("changed.tar.gz")
    changed.write_bytes(content[: place % len(content)])
    assert verify(changed).problems
    changed.write_bytes(content + added + b"\0")
    assert verify(changed).problems


@pytest.mark.parametrize("packing", list(Packing))
def test_the_seal_sees_every_byte(packing: Packing, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"some content")
    seal(path, packing)
    whole = path.read_bytes()
    assert is_whole(path, packing)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert not is_whole(path, packing), place


def test_the_seal_is_nothing_to_programs_that_unpack(packed: Path) -> None:
    with gzip.open(packed) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as tar:
        assert any(name.endswith("/MANIFEST") for name in tar.getnames())


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_change_in_an_unpacked_bundle_is_named(
    packed: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    out = tmp_path_factory.mktemp("unpacked") / "out"
    verify(packed, out)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    victim = data.draw(st.sampled_from(files))
    name = victim.relative_to(out).as_posix()
    match data.draw(st.sampled_from(["change", "remove", "add", "rename"])):
        case "change":
            content = bytearray(victim.read_bytes() or b"\0")
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] ^= data.draw(st.integers(1, 255))
            victim.write_bytes(content)
        case "remove":
            victim.unlink()
        case "add":
            (out / "more").write_text("")
            name = "more"
        case _:
            victim.rename(victim.with_name("other"))
    if name == "MANIFEST" and not victim.exists():
        # Then it is a run's directory with files that no run writes, and its journal holds.
        assert "no MANIFEST" in verify(out).note
        return
    assert any(name in problem for problem in verify(out).problems)
    shutil.rmtree(out)


def _archive(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for entry, content in entries:
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    "name", ["b/../../evil", "/etc/evil", "b//evil", "../evil", "b/./evil", "evil", "b/a\\b"]
)
def test_nothing_leaves_its_directory(tmp_path: Path, name: str) -> None:
    path = _archive(tmp_path / "x.tar.gz", (tarfile.TarInfo(name), b"x"))
    seal(path, Packing.GZIP)
    assert verify(path, tmp_path / "out").problems
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_only_plain_files_are_taken(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("b/x")
    entry.type, entry.linkname = kind, "/etc/passwd"
    path = _archive(tmp_path / "x.tar.gz", (entry, b""))
    seal(path, Packing.GZIP)
    assert any("does not belong in a bundle" in one for one in verify(path).problems)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "x.tar.gz"
    entry = tarfile.TarInfo("b/x")
    entry.size = 1 << 40
    with gzip.open(bomb, "wb") as stream:
        stream.write(entry.tobuf())
        stream.write(bytes(1 << 20))
    seal(bomb, Packing.GZIP)
    assert any("larger than any bundle" in one for one in verify(bomb).problems)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_is_a_bomb_is_not_read(tmp_path: Path, kind: bytes) -> None:
    bomb = tmp_path / "x.tar.gz"
    entry = tarfile.TarInfo("b/x")
    entry.type, entry.size = kind, 3 << 30
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        stream.write(entry.tobuf())
        for _ in range(64):
            stream.write(bytes(1 << 20))
    seal(bomb, Packing.GZIP)
    tracemalloc.start()
    assert any("does not belong in a bundle" in one for one in verify(bomb).problems)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


def test_what_comes_after_the_last_file_is_bounded(tmp_path: Path) -> None:
    bomb = tmp_path / "x.tar.gz"
    with gzip.open(bomb, "wb") as stream:
        stream.write(bytes(2 << 28))
    seal(bomb, Packing.GZIP)
    assert any("larger than any bundle" in one for one in verify(bomb).problems)


def test_what_is_no_plain_file_is_refused_at_once(say: Cli, run: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar.gz")
    for path in (tmp_path / "x.tar.gz", Path("/dev/zero")):
        say("verify", path).refused(2, "not a file")
    unpacked = tmp_path / "unpacked"
    shutil.copytree(run, unpacked)
    os.mkfifo(unpacked / "MANIFEST")
    say("verify", unpacked).refused(2, "not a file")


def test_extraction_is_whole_or_nothing(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def full(folder: OpenFolder, name: str, *more: object) -> None:
        written.append(name)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        folder.write(name.replace("/", "-"), b"x")

    monkeypatch.setattr("culvert.bundle.archive._write", full)
    assert any("No space left" in one for one in verify(packed, tmp_path / "out").problems)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/b", "", ".hidden", "x" * 300])
def test_a_name_in_a_journal_is_no_path(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assign(copy, "run", "study", name)
    monkeypatch.chdir(tmp_path)
    done = bundle(copy, None)
    assert re.fullmatch(r"[a-z-]+-[0-9]{8}T[0-9]{6}\.tar\.gz", str(done.path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["copy", done.path.name])


def test_a_bundle_packed_again_tells_what_was_changed(packed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    verify(packed, out)
    (out / "study.toml").write_text("name = 'other'\n")
    entries = [
        (tarfile.TarInfo(f"b/{path.relative_to(out).as_posix()}"), path.read_bytes())
        for path in out.rglob("*")
        if path.is_file()
    ]
    again = _archive(tmp_path / "again.tar.gz", *entries)
    problems = verify(again).problems
    assert "study.toml was changed" in problems
    assert "the archive was changed after it was sealed" in problems


def test_a_private_key_does_not_leave(tmp_path: Path) -> None:
    text = STUDY.replace('"Made up"', '"""\n-----BEGIN PRIVATE KEY-----\n"""')
    directory = write_run(tmp_path / "run", {"none": [1.0]}, text=text)
    with pytest.raises(UsageError, match="private key"):
        bundle(directory, tmp_path / "x.tar.gz")
    assert not (tmp_path / "x.tar.gz").exists()


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
members = names.filter(lambda name: is_inside(name) and name != manifest.NAME)


@given(
    st.dictionaries(
        names.filter(lambda name: is_inside(name) and name != manifest.NAME),
        st.binary(max_size=8),
        min_size=1,
    )
)
def test_a_manifest_is_read_as_it_was_written(contents: dict[str, bytes]) -> None:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert manifest.read(manifest.write(sums)) == sums


def test_bundle_and_verify_agree_on_the_digest_and_find_a_change(
    say: Cli, run: Path, tmp_path: Path
) -> None:
    target = tmp_path / "made.tar.gz"
    done = say("bundle", run, "--out", target, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert say("verify", target).code == 0
    content = bytearray(target.read_bytes())
    content[len(content) // 2] ^= 1
    target.write_bytes(content)
    changed = say("verify", target, "--json")
    assert (changed.code, json.loads(changed.out)["ok"]) == (1, False)
    say("verify", tmp_path / "nothing").refused(2, "the file does not exist")


def test_what_cannot_be_is_refused(run: Path, packed: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already exists"):
        bundle(run, packed)
    with pytest.raises(UsageError, match="its suffix does not name a compression"):
        bundle(run, tmp_path / "made.zip")
    with pytest.raises(UsageError, match="no journal"):
        bundle(tmp_path, tmp_path / "no.tar.gz")
    with pytest.raises(UsageError, match="already exists"):
        verify(packed, tmp_path)
    assert verify(run).note
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="not a bundle"):
        verify(tmp_path / "text")


def test_a_damaged_journal_does_not_verify(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    path = tmp_path / "copy" / "journal.sqlite"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"wireguard/go", b"wireguard/GO"))
    assert verify(tmp_path / "copy").problems
