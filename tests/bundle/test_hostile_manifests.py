"""Bundles that somebody made to do harm, packed and unpacked: exit code 1 or 2, soon, in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from culvert.bundle import archive
from culvert.bundle import verify as command
from culvert.bundle.verify import verify
from culvert.bundle.write import bundle
from tests.cli import Cli
from tests.compare.runs import write_run
from tests.effort import cpu_s

SOON_S = 5.0


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundles")
    run = write_run(
        place / "run",
        {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8], "vxlan/plain": [6e8, 6e8]},
    )
    bundle(run, place / "x.zip")
    assert verify(place / "x.zip", place / "out").problems == ()
    return place / "out"


@pytest.fixture
def copy(unpacked: Path, tmp_path: Path) -> Path:
    shutil.copytree(unpacked, tmp_path / "copy")
    return tmp_path / "copy"


def encoded(lines: str) -> bytes:
    return lines.encode("utf-8", "surrogatepass")


def line(name: str, digest: str = "0" * 64) -> str:
    return f"{digest}  {name}\n"


def _twice(text: str) -> str:
    first = text.splitlines(keepends=True)[0]
    return first + text


CHANGES: dict[str, Callable[[str], bytes]] = {
    "empty": lambda _: b"",
    "a zero byte": lambda text: encoded(text + line("a\0b")),
    "no text": lambda _: b"\xff\xfe" * 100,
    "JSON": lambda _: encoded('{"files": ' + "[" * 9000 + "]" * 9000 + "}\n"),
    "no lines": lambda _: encoded(""),
    "without the last end of line": lambda text: text.rstrip("\n").encode(),
    "an empty line": lambda text: encoded(text + "\n"),
    "a file twice": lambda text: encoded(_twice(text)),
    "another order": lambda text: encoded("".join(sorted(text.splitlines(True), reverse=True))),
    "line breaks of DOS": lambda text: encoded(text.replace("\n", "\r\n")),
    "capital digits": lambda text: encoded(text.upper()),
    "a short digest": lambda text: encoded(text + line("x", "0" * 63)),
    "a long digest": lambda text: encoded(text + line("x", "0" * 6400)),
    "fullwidth digits": lambda text: encoded(text + line("x", "\uff10" * 64)),
    "a file above": lambda text: encoded(text + line("../../etc/passwd")),
    "an absolute file": lambda text: encoded(text + line("/etc/passwd")),
    "a file of ours twice": lambda text: encoded(text + line("tables/../study.toml")),
    "a file of here": lambda text: encoded(text + line("./study.toml")),
    "itself": lambda text: encoded(text + line("MANIFEST")),
    "a directory": lambda text: encoded(text + line("tables")),
    "a slash at the end": lambda text: encoded(text + line("tables/")),
    "a backslash": lambda text: encoded(text + line("tables\\x")),
    "right to left": lambda text: encoded(text + line("\u202egnp.exe")),
    "a terminal's words": lambda text: encoded(text + line("\x1b[2Jx")),
    "a lone surrogate": lambda text: encoded(text + line("\ud800")),
    "a line separator": lambda text: encoded(text + line("a\u2028b")),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + encoded(text),
    "a file that is missing": lambda text: encoded(text + line("more")),
    "a long name": lambda text: encoded(text + line("x" * 100_000)),
    "a deep name": lambda text: encoded(text + line("/".join("x" * 20_000))),
    "40,000 files": lambda text: encoded(text + "".join(line(f"x{n}") for n in range(40_000))),
    "larger than any": lambda text: encoded(text + line("x") * 80_000),
}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_was_made_up_is_noticed(
    say: Cli, copy: Path, tmp_path: Path, name: str, packed: bool
) -> None:
    text = (copy / "MANIFEST").read_text()
    (copy / "MANIFEST").write_bytes(CHANGES[name](text))
    begun = cpu_s()
    said = say("verify", _pack(copy, tmp_path) if packed else copy)
    assert cpu_s() - begun < SOON_S
    assert (said.code, "defect" in said.err) == (1, False), said.err
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert len(said.out) < 4_000_000


def _pack(directory: Path, place: Path) -> Path:
    path = place / "packed.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file in sorted(directory.rglob("*")):
            if file.is_file():
                archive.write(file, f"b/{file.relative_to(directory).as_posix()}")
    return path


def test_a_bundle_that_was_packed_by_others_with_a_right_manifest_holds(
    copy: Path, tmp_path: Path
) -> None:
    assert verify(_pack(copy, tmp_path)).problems == ()


@pytest.mark.parametrize("kind", ["pipe", "directory", "zero", "link", "dangling"])
@pytest.mark.parametrize("name", ["MANIFEST", "study.toml", "tables/summary.csv", "more"])
def test_special_files_in_an_unpacked_bundle(
    say: Cli, copy: Path, unpacked: Path, name: str, kind: str
) -> None:
    place = copy / name
    place.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "directory":
            place.mkdir()
        case "zero":
            place.symlink_to("/dev/zero")
        case "link":
            place.symlink_to(unpacked / name)
        case _:
            place.symlink_to("nowhere")
    begun = cpu_s()
    said = say("verify", copy)
    assert cpu_s() - begun < SOON_S
    if (name, kind) == ("more", "directory"):  # an empty one is nothing
        assert said.code == 0
        return
    assert said.code == (2 if name == "MANIFEST" and kind != "link" else 1), said.err
    assert "defect" not in said.err


def test_a_sparse_terabyte_is_not_read(say: Cli, copy: Path) -> None:
    os.truncate(copy / "evidence.jsonl", 1 << 40)
    begun = cpu_s()
    said = say("verify", copy)
    assert cpu_s() - begun < SOON_S
    assert (said.code, "larger than any bundle" in said.out) == (1, True)


def test_files_without_number_are_not_read(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MOST_FILES", 50)
    for number in range(60):
        (copy / f"more{number}").touch()
    assert verify(copy).problems == (archive.TOO_MUCH,)


def test_a_loop_of_links_ends(copy: Path) -> None:
    (copy / "loop").symlink_to(copy)
    (copy / "tables" / "up").symlink_to("..")
    names = ("loop", "tables/up")
    assert verify(copy).problems == tuple(f"{name} is not a regular file" for name in names)


@pytest.mark.parametrize("kind", ["symbolic", "hard", "pipe", "directory", "dangling"])
def test_a_bundle_and_its_extraction_take_no_place_that_is_taken(
    say: Cli, copy: Path, tmp_path: Path, kind: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name, words in (
        ("x.zip", ("bundle", copy, "--out", tmp_path / "x.zip")),
        ("out", ("verify", _pack(copy, tmp_path), "--extract", tmp_path / "out")),
    ):
        place = tmp_path / name
        match kind:
            case "symbolic":
                place.symlink_to(victim)
            case "hard":
                place.hardlink_to(victim)
            case "pipe":
                os.mkfifo(place)
            case "directory":
                place.mkdir()
            case _:
                place.symlink_to("nowhere")
        say(*words).refused(2, "already exists")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()
