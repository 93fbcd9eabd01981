"""The image of `make image`, but for the unpacking of Debian."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
import release.image
from release.image import _layer, _root_file_system, make_image


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


def test_it_is_created_at_the_commit_from_a_package_that_no_mount_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, work_dir = tmp_path / "culvert.deb", tmp_path / "work"
    package.write_bytes(b"package")
    work_dir.mkdir()
    given: list[Path] = []

    def printed(inside: Path, _tools: Path) -> list[str]:
        given.append(inside)
        return ["cat", str(inside)]

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(release.image, "_wireguard_go", lambda folder: folder / "tools")
    monkeypatch.setattr(release.image, "_root_file_system", printed)
    image = make_image(package, "1.2", work_dir)
    assert (image.name, given) == ("culvert-1.2.oci.tar", [work_dir / "culvert.deb"])
    with tarfile.open(image) as tar:
        (docker,) = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
        config = json.load(tar.extractfile(docker["Config"]))  # type: ignore[arg-type]
    assert config["created"] == "2023-11-14T22:13:20Z"
