"""OCI images without a container engine: one layer of files, in an archive that every engine loads.

The layout is that of the OCI Image Layout Specification 1.0, as a tar file. Equal files give equal
bytes. crates/probe/Dockerfile makes the same image of the probe with an engine; `make image` makes
Culvert's own.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert import __version__
from culvert.errors import LabError, NotPossible, UsageError
from culvert.files.target import replacing
from culvert.labs.probes import static_probe

PROBE_IMAGE = f"culvert.local/probe:{__version__}"
PROBE_PATH = "/culvert-probe"
NOBODY = 65534
COPY = "skopeo copy oci-archive:{} docker://REGISTRY/NAME:TAG"
"""The command that pushes an archive to a registry."""
IMPORT_S = 120.0
CONTAINERD_NAMESPACE = "k8s.io"
"""The kubelet's."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Image:
    """``name`` with its tag; ``files`` are executable, by absolute path."""

    name: str
    entrypoint: Sequence[str]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Blob:
    """``kind`` is its media type."""

    kind: str
    content: bytes

    @property
    def digest(self) -> str:
        """As other blobs and registries name it."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    @property
    def path(self) -> str:
        """Its place in an archive."""
        return f"blobs/{self.digest.replace(':', '/')}"

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
    layer = Blob(LAYER, _tar(image.files, mode=0o755))
    # The file system of a pod is read-only but for its shared memory.
    environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin:/", "TMPDIR=/dev/shm"]
    settings = {
        "Entrypoint": list(image.entrypoint),
        "Env": environment,
        "User": f"{NOBODY}:{NOBODY}",
    }
    return assembled(layer, layer.digest, settings)


def assembled(
    layer: Blob, unpacked_digest: str, settings: Mapping[str, object], created: str = ""
) -> Contents:
    """The blobs of an image for this machine's architecture; ``settings`` are what it starts,
    ``created`` is a time in the form of RFC 3339."""
    config = {
        **({"created": created} if created else {}),
        "architecture": _architecture(),
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [unpacked_digest]},
    }
    configured = Blob(_CONFIG, _json(config))
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": configured.described,
        "layers": [layer.described],
    }
    return Contents(layer, configured, Blob(_MANIFEST, _json(manifest)))


def archive(image: Image) -> bytes:
    """The image as an OCI archive."""
    return packed(contents(image), image.name)


def packed(made: Contents, name: str) -> bytes:
    """The blobs as an OCI archive; ``name`` is with its tag."""
    annotations = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX,
        "manifests": [{**made.manifest.described, "annotations": annotations}],
    }
    # What `docker load` reads before version 25.
    docker = {"Config": made.config.path, "RepoTags": [name], "Layers": [made.layer.path]}
    files = {blob.path: blob.content for blob in (made.layer, made.config, made.manifest)}
    files |= {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        "manifest.json": _json([docker]),
    }
    return _tar(files, mode=0o644)


def probe_image() -> Image:
    """The probe alone. Raises NotPossible if there is no static probe for this machine."""
    content = static_probe("the probe's image")
    return Image(PROBE_IMAGE, (PROBE_PATH,), {PROBE_PATH: content})


def write(image: Image, path: Path) -> None:
    """Write the archive to a file. Raises UsageError if it cannot be written."""
    content = archive(image)
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), "name another file") from error


def import_archive(path: Path) -> None:
    """Import an archive into this machine's containerd, where the kubelet finds it. Raises
    NotPossible without ctr, LabError if it fails."""
    from culvert.labs.this_machine import ThisMachine  # it takes long, and studies need names only

    machine = ThisMachine()
    if machine.find("ctr") is None:
        raise NotPossible(
            "the import of the image",
            "ctr, the command of containerd, is missing",
            f"run it on a node of the cluster, or push the image: {COPY.format(path)}",
        )
    argv = ["ctr", "-n", CONTAINERD_NAMESPACE, "images", "import", str(path)]
    done = machine.run(argv, timeout_s=IMPORT_S, check=False)
    if done.returncode != 0:
        raise LabError(
            f"the import of {path}",
            (done.stderr.strip() or done.stdout.strip())[-300:] or f"exit code {done.returncode}",
            "run it as root on a node whose containerd runs",
        )


def _architecture() -> str:
    """This machine's, by Go's name."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise NotPossible("an image", f"for {machine} is not supported", "use amd64 or arm64")
    return _ARCHITECTURES[machine]


def _tar(files: Mapping[str, bytes], *, mode: int) -> bytes:
    """Whoever unpacks it makes the directories."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, content in sorted(files.items()):
            info = tarfile.TarInfo(path.lstrip("/"))
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _json(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
