"""What Culvert keeps on a machine: neither waited for, nor trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.features.record import read_records
from culvert.install import log
from culvert.labs.kubernetes import image
from culvert.labs.kubernetes.embedded.programs import built
from culvert.labs.vm import build
from culvert.vpns.contract.package import write_package
from tests.cli import Cli
from tests.files.planted import plant


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "state"
    path.mkdir()
    monkeypatch.setenv("CULVERT_STATE", str(path))
    monkeypatch.setenv("CULVERT_TOOLS", str(path))
    return path


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
    assert not (tmp_path / "nowhere").exists()
