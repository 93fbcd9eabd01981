"""An image without a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from culvert.errors import NotPossible, UsageError
from culvert.labs.kubernetes.image import (
    PROBE_PATH,
    Image,
    archive,
    contents,
    write,
)
from culvert.labs.probes import FOLDER, PROBE, Architecture, static_probe

IMAGE = Image("culvert.local/x:1", ("/bin/x",), {"/bin/x": b"\x7fELF"})
DOCKERFILE = Path(__file__).parents[3] / "crates/probe/Dockerfile"


def unpacked(blob: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(blob)) as tar:
        files = [member for member in tar.getmembers() if member.isfile()]
        return {member.name: tar.extractfile(member).read() for member in files}  # type: ignore[union-attr]


def test_every_blob_is_named_by_its_digest_and_reached_from_the_index() -> None:
    files = unpacked(archive(IMAGE))
    index = json.loads(files["index.json"])
    (described,) = index["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == "culvert.local/x:1"
    manifest = json.loads(files[blob_of(described)])
    for each in (described, manifest["config"], *manifest["layers"]):
        content = files[blob_of(each)]
        assert hashlib.sha256(content).hexdigest() == each["digest"].removeprefix("sha256:")
        assert len(content) == each["size"]
    config = json.loads(files[blob_of(manifest["config"])])
    assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    assert config["config"]["Entrypoint"] == ["/bin/x"]
    assert config["config"]["User"] == "65534:65534"
    (docker,) = json.loads(files["manifest.json"])  # of Docker before 25
    assert docker["RepoTags"] == ["culvert.local/x:1"]
    assert docker["Config"] == blob_of(manifest["config"])
    assert docker["Layers"] == [blob_of(manifest["layers"][0])]


def blob_of(described: dict[str, str]) -> str:
    return "blobs/" + described["digest"].replace(":", "/")


def test_the_layer_has_the_programs_and_nothing_else() -> None:
    with tarfile.open(fileobj=io.BytesIO(contents(IMAGE).layer.content)) as tar:
        (member,) = tar.getmembers()
    assert (member.name, member.mode, member.size) == ("bin/x", 0o755, 4)


def test_the_dockerfile_makes_the_same_image() -> None:
    lines = [line.split(" ", 1) for line in DOCKERFILE.read_text().splitlines() if line[0] != "#"]
    made = json.loads(contents(Image("x:1", (PROBE_PATH,), {PROBE_PATH: b""})).config.content)
    written = {
        "Entrypoint": next(json.loads(value) for word, value in lines if word == "ENTRYPOINT"),
        "Env": [value for word, value in lines if word == "ENV"],
        "User": next(value for word, value in lines if word == "USER"),
    }
    assert written == made["config"]
    assert ["FROM", "scratch"] in lines
    (copied,) = [value.split() for word, value in lines if word == "COPY"]
    machine = next(value for word, value in lines if word == "ARG").partition("=")[2]
    assert copied == [f"{PROBE}-${{MACHINE}}", PROBE_PATH]
    assert Architecture.of(machine).name == machine


def test_without_a_static_probe_the_command_that_builds_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    with pytest.raises(NotPossible) as caught:
        static_probe("the probe's image")
    assert caught.value.remedy == "make probe-static"
    (tmp_path / FOLDER).mkdir()
    name = Architecture.of(platform.machine()).name
    program = tmp_path / FOLDER / f"{PROBE}-{name}"
    shutil.copy(Path(sys.executable).resolve(), program)
    assert static_probe("the probe's image") == program.read_bytes()


def test_equal_files_give_equal_bytes() -> None:
    assert archive(IMAGE) == archive(IMAGE)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        write(IMAGE, tmp_path / "none/x.tar")
