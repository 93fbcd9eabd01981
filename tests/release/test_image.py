"""The image of `make image`, but for the unpacking of Debian."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

from release.image import _layer, _root_file_system


def test_a_layer_has_equal_bytes_and_both_digests() -> None:
    tar = bytes(range(256)) * 10_000  # more than a chunk
    layer, unpacked_digest = _layer(io.BytesIO(tar))
    assert gzip.decompress(layer.content) == tar
    assert unpacked_digest == f"sha256:{hashlib.sha256(tar).hexdigest()}"
    assert _layer(io.BytesIO(tar))[0] == layer


def test_it_has_the_package_and_what_the_roles_install() -> None:
    command = _root_file_system(Path("/dist/culvert.deb"), Path("/work/tools"))
    for name in ("/dist/culvert.deb", "openvpn", "charon-systemd", "strongswan-swanctl"):
        assert f"--include={name}" in command
    assert "--customize-hook=sync-in /work/tools /var/lib/culvert/tools" in command
