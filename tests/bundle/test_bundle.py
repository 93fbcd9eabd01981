from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tracemalloc
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.bundle import manifest
from culvert.bundle.verify import verify
from culvert.bundle.write import bundle
from culvert.errors import UsageError
from culvert.files.names import is_inside
from culvert.files.target import replacing
from culvert.journal.journal import Journal
from tests.cli import Cli
from tests.compare.runs import STUDY, write_run
from tests.journal.attacks import assign


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8]}
    return write_run(tmp_path_factory.mktemp("run") / "made", values)


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packed") / "made.zip"
    bundle(run, target)
    return target


def test_the_same_run_gives_the_same_bytes_and_they_verify(run: Path, tmp_path: Path) -> None:
    first = bundle(run, tmp_path / "a.zip")
    second = bundle(run, tmp_path / "b.zip")
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
def test_any_changed_byte_is_detected_or_changes_no_file(
    packed: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(packed.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("changed")
    (folder / "changed.zip").write_bytes(content)
    if not verify(folder / "changed.zip", folder / "out").problems:
        verify(packed, folder / "whole")
        assert contents(folder / "out") == contents(folder / "whole")
    shutil.rmtree(folder)


def contents(directory: Path) -> dict[Path, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory): path.read_bytes() for path in files}


@given(place=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_a_shorter_archive_is_detected(packed: Path, place: int) -> None:
    content = packed.read_bytes()
    changed = packed.with_name("changed.zip")
    changed.write_bytes(content[: place % len(content)])
    assert verify(changed).problems


def test_other_programs_unpack_and_check_it(packed: Path, tmp_path: Path) -> None:
    with ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    words = ["sha256sum", "--check", "--strict", "MANIFEST"]
    assert subprocess.run(words, cwd=folder, check=False).returncode == 0


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
    problems = verify(out).problems
    assert problems
    assert name == "MANIFEST" or any(name in problem for problem in problems)
    shutil.rmtree(out)


def _archive(path: Path, *entries: tuple[ZipInfo | str, bytes]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return path


@pytest.mark.parametrize(
    "name", ["b/../../evil", "/etc/evil", "b//evil", "../evil", "b/./evil", "evil", "b/a\\b"]
)
def test_nothing_leaves_its_directory(tmp_path: Path, name: str) -> None:
    path = _archive(tmp_path / "x.zip", (name, b"x"))
    assert verify(path, tmp_path / "out").problems
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFCHR])
def test_only_plain_files_are_taken(tmp_path: Path, kind: int) -> None:
    entry = ZipInfo("b/x")
    entry.external_attr = (kind | 0o644) << 16
    path = _archive(tmp_path / "x.zip", (entry, b"/etc/passwd"))
    assert any("does not belong in a bundle" in one for one in verify(path).problems)


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_only_deflate_is_unpacked(tmp_path: Path, method: int) -> None:
    """Its window is 32 KiB; others may state one of gigabytes."""
    entry = ZipInfo("b/x")
    entry.compress_type = method
    path = _archive(tmp_path / "x.zip", (entry, b"x"))
    assert any("does not belong in a bundle" in one for one in verify(path).problems)


def test_a_member_twice_and_a_second_folder_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = _archive(tmp_path / "x.zip", ("b/x", b"1"), ("b/x", b"2"))
    assert verify(twice).problems == ("x is in it twice",)
    two = _archive(tmp_path / "y.zip", ("b/x", b"1"), ("c/y", b"2"))
    assert verify(two).problems == ("it has more than one folder",)
    both = _archive(tmp_path / "z.zip", ("b/x", b"1"), ("b/x/y", b"2"))
    assert verify(both, tmp_path / "out").problems == ("x is a file and a folder",)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = _archive(tmp_path / "x.zip", ("b/x", bytes(1 << 25)))
    assert bomb.stat().st_size < 1 << 16
    assert verify(bomb, tmp_path / "out").problems == ("it is larger than any bundle",)
    assert list(tmp_path.iterdir()) == [bomb]


def test_a_bomb_that_states_a_small_size_gives_no_more(tmp_path: Path) -> None:
    bomb = _archive(tmp_path / "x.zip", ("b/x", bytes(1 << 25)))
    content = bomb.read_bytes()
    bomb.write_bytes(
        content.replace((1 << 25).to_bytes(4, "little"), (1 << 10).to_bytes(4, "little"))
    )
    tracemalloc.start()
    assert any("cannot be unpacked: Bad CRC-32" in one for one in verify(bomb).problems)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize(("members", "length"), [(10_001, 1), (1_000, 3_000)])
def test_members_without_number_are_not_read(tmp_path: Path, members: int, length: int) -> None:
    names = (f"b/{number:0{length}}" for number in range(members))
    many = _archive(tmp_path / "x.zip", *((name, b"") for name in names))
    tracemalloc.start()
    assert verify(many).problems == ("it is larger than any bundle",)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


def test_what_is_no_plain_file_is_refused_at_once(say: Cli, run: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.zip")
    for path in (tmp_path / "x.zip", Path("/dev/zero")):
        say("verify", path).refused(2, "not a file")
    unpacked = tmp_path / "unpacked"
    shutil.copytree(run, unpacked)
    os.mkfifo(unpacked / "MANIFEST")
    say("verify", unpacked).refused(2, "not a file")


def test_extraction_is_whole_or_nothing(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def full(path: Path) -> AbstractContextManager[IO[bytes]]:
        written.append(path.name)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replacing(path)

    monkeypatch.setattr("culvert.bundle.archive.replacing", full)
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
    assert re.fullmatch(r"[a-z-]+-[0-9]{8}T[0-9]{6}\.zip", str(done.path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["copy", done.path.name])


def test_a_bundle_packed_again_tells_what_was_changed(packed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    verify(packed, out)
    (out / "study.toml").write_text("name = 'other'\n")
    entries = [
        (f"b/{path.relative_to(out).as_posix()}", path.read_bytes())
        for path in out.rglob("*")
        if path.is_file()
    ]
    again = _archive(tmp_path / "again.zip", *entries)
    assert verify(again).problems == ("study.toml was changed",)


def test_a_private_key_does_not_leave(tmp_path: Path) -> None:
    text = STUDY.replace('"Made up"', '"""\n-----BEGIN PRIVATE KEY-----\n"""')
    directory = write_run(tmp_path / "run", {"none": [1.0]}, text=text)
    with pytest.raises(UsageError, match="private key"):
        bundle(directory, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


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
    target = tmp_path / "made.zip"
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
    with pytest.raises(UsageError, match="a bundle is a zip file"):
        bundle(run, tmp_path / "made.tar.gz")
    with pytest.raises(UsageError, match="no journal"):
        bundle(tmp_path, tmp_path / "no.zip")
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
    path.write_bytes(content[:-4096])
    assert verify(tmp_path / "copy").problems
