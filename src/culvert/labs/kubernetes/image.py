"""OCI images without a container engine: one layer of files, in an archive that every engine loads.

The layout is that of the OCI Image Layout Specification 1.0, as a tar file. Equal files give equal
bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from culvert.errors import NotPossible, UsageError
from culvert.files.target import replacing
from culvert.labs.hosts.remote.programs import Architecture, probe_for

PROBE_IMAGE = "culvert.local/probe"
PROBE_PATH = "/culvert-probe"
NOBODY = 65534
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_DIRECTORIES = ("tmp", "proc", "sys", "dev", "etc", "run")
_PROGRAM_HEADER_INTERPRETER = 3


@dataclass(frozen=True)
class Image:
    """``name`` with its tag; ``files`` are executable, by absolute path; ``links`` by absolute
    path, to another."""

    name: str
    entrypoint: Sequence[str]
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    user: str = f"{NOBODY}:{NOBODY}"


@dataclass(frozen=True)
class Blob:
    """``kind`` is its media type."""

    kind: str
    content: bytes

    @property
    def digest(self) -> str:
        """As other blobs and registries name it."""
        return f"sha256:{_hash(self.content)}"

    @property
    def described(self) -> dict[str, object]:
        """A descriptor of it, for another blob."""
        return {"mediaType": self.kind, "digest": self.digest, "size": len(self.content)}


@dataclass(frozen=True)
class Contents:
    """The blobs of an image."""

    layer: Blob
    config: Blob
    manifest: Blob


def contents(image: Image) -> Contents:
    """The image as blobs."""
    layer = Blob(_LAYER, _layer(image))
    config = _json_blob(
        _CONFIG,
        {
            "architecture": architecture(),
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                # The file system of a pod is read-only but for its shared memory.
                "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin:/", "TMPDIR=/dev/shm"],
                "User": image.user,
            },
            "rootfs": {"type": "layers", "diff_ids": [layer.digest]},
        },
    )
    manifest = _json_blob(
        _MANIFEST,
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": config.described,
            "layers": [layer.described],
        },
    )
    return Contents(layer, config, manifest)


def archive(image: Image) -> bytes:
    """The image as an OCI archive."""
    made = contents(image)
    tag = image.name.rpartition(":")[2]
    annotations = {
        "io.containerd.image.name": image.name,
        "org.opencontainers.image.ref.name": tag,
    }
    index = _json(
        {
            "schemaVersion": 2,
            "mediaType": _INDEX,
            "manifests": [{**made.manifest.described, "annotations": annotations}],
        }
    )
    blobs = {
        f"blobs/sha256/{_hash(blob.content)}": blob.content
        for blob in (made.layer, made.config, made.manifest)
    }
    layout = _json({"imageLayoutVersion": "1.0.0"})
    return _tar({"oci-layout": layout, "index.json": index, **blobs}, mode=0o644)


def probe_image(version: str) -> Image:
    """The probe alone. Raises NotPossible if there is no static probe for this machine."""
    content = static_probe("the probe's image")
    return Image(f"{PROBE_IMAGE}:{version}", (PROBE_PATH,), {PROBE_PATH: content})


def static_probe(purpose: str) -> bytes:
    """The probe that ``make probe-static`` builds for this machine's architecture; ``purpose`` is
    named in an error. Raises NotPossible if there is none."""
    here = Architecture.of(platform.machine(), big_endian=sys.byteorder == "big")
    program = probe_for(purpose, here)
    content = program.read_bytes()
    if not is_static(content):
        raise NotPossible(
            purpose,
            f"{program} needs shared libraries, which are missing there",
            "make probe-static",
        )
    return content


def is_static(program: bytes) -> bool:
    """Whether an ELF program (64 bits, little-endian) runs without a dynamic loader."""
    if program[:6] != b"\x7fELF\x02\x01":
        raise UsageError("the program", "is not a 64-bit ELF program", "build it for this machine")
    start = int.from_bytes(program[32:40], "little")
    size, count = (int.from_bytes(program[at : at + 2], "little") for at in (54, 56))
    kinds = (
        int.from_bytes(program[start + number * size :][:4], "little") for number in range(count)
    )
    return _PROGRAM_HEADER_INTERPRETER not in kinds


def write(image: Image, path: Path) -> None:
    """Write the archive to a file. Raises UsageError if it cannot be written."""
    content = archive(image)
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "name another file") from error


def architecture() -> str:
    """This machine's, by Go's name. Raises NotPossible for one that has none."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise NotPossible("an image", f"for {machine} is not supported", "use amd64 or arm64")
    return _ARCHITECTURES[machine]


def _layer(image: Image) -> bytes:
    return _tar(image.files, mode=0o755, links=image.links, directories=_DIRECTORIES)


def _tar(
    files: Mapping[str, bytes],
    *,
    mode: int,
    links: Mapping[str, str] | None = None,
    directories: Sequence[str] = (),
) -> bytes:
    buffer = io.BytesIO()
    names = [path.lstrip("/") for path in (*files, *(links or {}))]
    needed = {
        str(above) for name in names for above in PurePosixPath(name).parents if above.name
    } | set(directories)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(needed):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(info)
        for path, content in sorted(files.items()):
            info = tarfile.TarInfo(path.lstrip("/"))
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
        for path, target in sorted((links or {}).items()):
            info = tarfile.TarInfo(path.lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return buffer.getvalue()


def _json_blob(kind: str, content: object) -> Blob:
    return Blob(kind, _json(content))


def _json(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def _hash(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()
