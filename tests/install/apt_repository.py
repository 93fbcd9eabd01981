"""A vendor's apt repository in a directory, signed by a key of its own, with one tiny package."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "culvert-test-vendor"
PROGRAM = Path("/var/log/culvert-test/vendor")
_ARCHITECTURES = "amd64 arm64"


@dataclass(frozen=True)
class Key:
    """A signing key, in a GnuPG directory of its own."""

    home: Path

    @property
    def file(self) -> Path:
        return self.home / "public.key"

    @property
    def fingerprint(self) -> str:
        shown = self.gpg("--with-colons", "--fingerprint")
        return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))

    def gpg(self, *words: str) -> str:
        return subprocess.run(
            ["gpg", "--batch", "--yes", "--homedir", str(self.home), *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def end(self) -> None:
        """End the agent that GnuPG started for the directory."""
        subprocess.run(
            ["gpgconf", "--homedir", str(self.home), "--kill", "all"],
            capture_output=True,
            check=False,
        )


def new_key(home: Path) -> Key:
    home.mkdir(mode=0o700)
    key = Key(home)
    key.gpg("--passphrase", "", "--quick-generate-key", "vendor@culvert.test", "ed25519", "sign")
    key.file.write_text(key.gpg("--armor", "--export"))
    return key


def publish(directory: Path, versions: list[str], key: Key) -> None:
    """Write the repository anew: suite ``stable``, component ``main``."""
    folder = directory / "dists/stable"
    texts = [_build(directory, version) for version in versions]
    index = []
    for architecture in _ARCHITECTURES.split():
        packages = folder / f"main/binary-{architecture}/Packages"
        packages.parent.mkdir(parents=True, exist_ok=True)
        packages.write_text("\n".join(texts))
        sha256 = hashlib.sha256(packages.read_bytes()).hexdigest()
        index.append(f" {sha256} {packages.stat().st_size} {packages.relative_to(folder)}")
    release = folder / "Release"
    release.write_text(
        f"Suite: stable\nCodename: stable\nArchitectures: {_ARCHITECTURES}\nComponents: main\n"
        "Date: Sat, 01 Nov 2025 00:00:00 UTC\nSHA256:\n" + "\n".join(index) + "\n"
    )
    key.gpg("--clearsign", "--output", str(folder / "InRelease"), str(release))


def _build(directory: Path, version: str) -> str:
    """The package's paragraph in the index."""
    tree = directory / "trees" / version
    program = tree / PROGRAM.relative_to("/")
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    (tree / "DEBIAN").mkdir(exist_ok=True)
    control = (
        f"Package: {PACKAGE}\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: Culvert <vendor@culvert.test>\nDescription: a package of a test\n"
    )
    (tree / "DEBIAN/control").write_text(control)
    deb = directory / f"pool/{version}.deb"
    deb.parent.mkdir(exist_ok=True)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(deb)],
        check=True,
        capture_output=True,
    )
    sha256 = hashlib.sha256(deb.read_bytes()).hexdigest()
    return f"{control}Filename: pool/{version}.deb\nSize: {deb.stat().st_size}\nSHA256: {sha256}\n"
