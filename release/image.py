"""The container image, without a container engine: Debian, Culvert's package, the VPNs of `quick`.

mmdebstrap makes Debian's root file system, with equal bytes from equal packages. wireguard-go is
compiled here, by `culvert install`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import yaml

from culvert.labs.kubernetes.image import LAYER, Blob, assembled, packed
from culvert.tools import MACHINES
from release.source import ROOT

_SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
"""Of Debian, by the Python that the package is made for."""
_ROLES = ("openvpn", "strongswan")
_UNREAD = ("doc", "info", "lintian", "locale", "man")
_SETTINGS = {
    "Entrypoint": ["culvert"],
    "Cmd": ["doctor"],
    "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
    "WorkingDir": "/results",
}
_CHUNK_BYTES = 1 << 20


def make_image(package: Path, version: str, work_dir: Path) -> Path:
    """``culvert-VERSION.oci.tar`` beside the package, for this machine's architecture; it was
    created at $SOURCE_DATE_EPOCH.

    Raises CalledProcessError.
    """
    tools = _wireguard_go(work_dir)
    # mmdebstrap reads it at the same path in the new root, where /dev is another one.
    inside = shutil.copyfile(package, work_dir / package.name)
    with subprocess.Popen(_root_file_system(inside, tools), stdout=subprocess.PIPE) as root:
        assert root.stdout is not None
        layer, unpacked_digest = _layer(root.stdout)
    if root.returncode:
        raise subprocess.CalledProcessError(root.returncode, "mmdebstrap")
    image = package.parent / f"culvert-{version}.oci.tar"
    created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    made = assembled(layer, unpacked_digest, _SETTINGS, f"{created:%Y-%m-%dT%H:%M:%SZ}")
    image.write_bytes(packed(made, f"culvert.local/culvert:{version}"))
    return image


def _wireguard_go(work_dir: Path) -> Path:
    """A directory of tools, which is ``MACHINES`` in the image."""
    tools = work_dir / "tools"
    install = (sys.executable, "-m", "culvert", "install", "wireguard/go")
    env = {**os.environ, "CULVERT_TOOLS": str(tools)}
    subprocess.run(install, env=env, check=True, stdout=subprocess.DEVNULL)
    (tools / "installs.jsonl").unlink()  # how long it took is no property of the image
    for link in (tools / "bin").iterdir():
        there = MACHINES / link.readlink().relative_to(tools)
        link.unlink()
        link.symlink_to(there)
    return tools


def _root_file_system(package: Path, tools: Path) -> list[str]:
    """A command that writes it as a tar file."""
    named = [
        name
        for role in _ROLES
        for name in yaml.safe_load((ROOT / f"ansible/roles/{role}/defaults/main.yml").read_text())[
            f"{role}_packages"
        ]
    ]
    return [
        *("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"),
        *(f"--include={name}" for name in (package.resolve(), *named)),
        "--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _UNREAD),
        f'--customize-hook=mkdir -m 1777 "$1/results" && mkdir -p "$1{MACHINES}"',
        f"--customize-hook=sync-in {tools} {MACHINES}",
        *(_SUITES[sys.version_info[:2]], "-"),
    ]


def _layer(tar: IO[bytes]) -> tuple[Blob, str]:
    """The compressed layer, and the digest of the uncompressed one."""
    whole, buffer = hashlib.sha256(), io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as zipped:
        while chunk := tar.read(_CHUNK_BYTES):
            whole.update(chunk)
            zipped.write(chunk)
    return Blob(f"{LAYER}+gzip", buffer.getvalue()), f"sha256:{whole.hexdigest()}"
