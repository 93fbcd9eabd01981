"""An image without a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import sys
import tarfile
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.labs.kubernetes.image import Image, archive, is_static, write

IMAGE = Image("culvert.local/x:1", ("/x",), {"/bin/x": b"\x7fELF"}, {"/x": "/bin/x"})


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
    assert config["config"]["Entrypoint"] == ["/x"]
    assert config["config"]["User"] == "65534:65534"


def blob_of(described: dict[str, str]) -> str:
    return "blobs/" + described["digest"].replace(":", "/")


def test_the_layer_has_the_programs_links_and_mount_points() -> None:
    files = unpacked(archive(IMAGE))
    layer = max(files.values(), key=len)
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert members["bin/x"].mode == 0o755
    assert members["x"].linkname == "/bin/x"
    assert members["tmp"].mode == 0o1777
    assert members["proc"].isdir()


def test_equal_files_give_equal_bytes() -> None:
    assert archive(IMAGE) == archive(IMAGE)


def elf(*kinds: int) -> bytes:
    """The header of an ELF program with segments of these kinds."""
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(kinds), 0, 0, 0
    )
    return header + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in kinds)


def test_a_program_with_an_interpreter_is_not_static() -> None:
    assert is_static(elf(1, 2))
    assert not is_static(elf(1, 3, 2))
    assert not is_static(Path(sys.executable).resolve().read_bytes())
    with pytest.raises(UsageError, match="not a 64-bit ELF program"):
        is_static(b"#!/bin/sh")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        write(IMAGE, tmp_path / "none/x.tar")
