"""What Culvert keeps on a machine: neither written through links, nor waited for, nor trusted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.features.criteria import Criterion
from culvert.features.record import Record, add_records, read_records
from culvert.files.folder import any_folder
from culvert.install import log
from culvert.journal.record import InstallRecord
from culvert.labs.building import alone
from culvert.labs.kubernetes import image
from culvert.labs.kubernetes.embedded.programs import built
from culvert.labs.vm import boots, build
from culvert.labs.vm.uml import Uml
from culvert.vpns.contract.package import write_package
from tests.cli import Cli
from tests.files.planted import plant

RECORD = Record("x", next(iter(Criterion)), "t", True, "", "1", "k", "2026-01-01T00:00:00+00:00")
INSTALLED = InstallRecord("x", "x", 1.0, changed=True, ok=True)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "state"
    path.mkdir()
    monkeypatch.setenv("CULVERT_STATE", str(path))
    monkeypatch.setenv("CULVERT_TOOLS", str(path))
    monkeypatch.setattr(boots, "_tried", lambda _: "no guest boots")
    return path


def _append() -> None:
    log.append([INSTALLED])


def _lock() -> None:
    with alone(Path(os.environ["CULVERT_STATE"])):
        pass


def _boot() -> None:
    boots.refusal(Uml(Path("/nowhere")), [])


WRITERS: Mapping[str, tuple[str, Callable[[], object]]] = {
    "features": ("features.json", lambda: add_records([RECORD])),
    "installs": ("installs.jsonl", _append),
    "build": (".lock", _lock),
    "boots": ("kernels/boots-uml.json", _boot),
}


@pytest.mark.parametrize("kind", ["symbolic", "hard", "pipe", "zero", "directory"])
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_planted_is_not_written_through(
    tmp_path: Path, state: Path, name: str, kind: str
) -> None:
    """It is refused, or what cannot be kept is not kept; nobody waits for a pipe."""
    victim = tmp_path / "victim"
    victim.write_text("[]")
    file, write = WRITERS[name]
    plant(state / file, kind, victim)
    with suppress(UsageError):
        write()
    assert victim.read_text() == "[]"
    names = {path.name for path in (state / file).parent.iterdir()}
    assert not [each for each in names if each.endswith((".part", ".new"))]


@pytest.mark.parametrize("name", WRITERS)
def test_what_was_written_beside_before_its_name_is_not_guessed(
    tmp_path: Path, state: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    file, write = WRITERS[name]
    path = state / file
    path.parent.mkdir(exist_ok=True)
    for guessed in {
        path.with_suffix(".new"),
        path.with_suffix(f".{os.getpid()}"),
        path.with_name(f"{path.name}.{os.getpid()}"),
    }:
        guessed.symlink_to(victim)
    write()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["pipe", "zero", "directory"])
def test_what_is_no_file_is_not_read(state: Path, kind: str) -> None:
    for file in ("features.json", "installs.jsonl"):
        plant(state / file, kind, state)
    with pytest.raises(UsageError):
        read_records()
    assert log.latest_installs(["x"]) == []
    for path in (state / "kernels/uml-1", state / "kubernetes" / built.recipe()):
        path.mkdir(parents=True)
    plant(state / "kernels/uml-1/kernel.json", kind, state)
    plant(state / "kubernetes" / built.recipe() / "record.json", kind, state)
    assert build.built() is None
    assert built.built() is None


@pytest.mark.parametrize("text", ["[1]", "{}", '[{"vpn": []}]', "[" * 9000, "\ud800", "[[]]"])
def test_records_that_are_none_are_refused(state: Path, text: str) -> None:
    (state / "features.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    if text == "{}":
        assert read_records() == []
        return
    with pytest.raises(UsageError, match="cannot be read"):
        read_records()


def test_commands_do_not_wait(say: Cli, state: Path) -> None:
    for file in ("features.json", "installs.jsonl"):
        os.mkfifo(state / file)
    say("features").refused(2, "it is a pipe")
    assert say("run", "quick", "--dry-run").code == 0


def test_an_image_replaces_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "probe.tar").symlink_to(victim)
    image.write(image.Image("x:1", (), {}), tmp_path / "probe.tar")
    assert victim.read_text() == "precious"
    assert (tmp_path / "probe.tar").stat().st_size > 0


@pytest.mark.parametrize("kind", ["symbolic", "pipe", "directory", "dangling"])
def test_a_new_package_is_new(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "package"
    plant(place, kind, tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        write_package("myvpn", place)
    with pytest.raises(UsageError):
        write_package("myvpn", tmp_path / "package" / "x" if kind == "pipe" else place)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_nothing_is_appended_to_another_user_s_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("theirs")
    os.chown(path, 65_533, 65_533)
    with (
        any_folder(tmp_path) as folder,
        pytest.raises(UsageError, match="another user"),
        folder.appending("x"),
    ):
        pass
    assert path.read_text() == "theirs"
