"""The bill of materials, in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/), as JSON.

What is linked into the programs with its licence; the Python packages that a wheel requires, in
the versions that it was tested with.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from release.source import Source

NAMESPACE = "https://culvert.invalid/spdx"
"""Of documents; SPDX wants a URI, not an address that answers."""


@dataclass(frozen=True, order=True)
class Part:
    """``purl`` is its package URL without version; ``relation`` is Culvert's to it; ``sha256`` is
    of the archive that a registry gives, empty if there is none."""

    name: str
    version: str
    purl: str
    licence: str
    relation: str
    sha256: str = ""

    @property
    def spdx_id(self) -> str:
        """Letters, digits, dots and hyphens."""
        kind = self.purl.removeprefix("pkg:").partition("/")[0]
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{self.name}-{self.version}")

    @property
    def described(self) -> dict[str, Any]:
        """As SPDX has it."""
        return {
            "SPDXID": self.spdx_id,
            "name": self.name,
            "versionInfo": self.version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.licence,
            "copyrightText": "NOASSERTION",
            **self._checksums,
            "externalRefs": [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": f"{self.purl}@{self.version}",
                }
            ],
        }

    @property
    def _checksums(self) -> dict[str, Any]:
        one = {"algorithm": "SHA256", "checksumValue": self.sha256}
        return {"checksums": [one]} if self.sha256 else {}


def write_bill(source: Source, out_dir: Path, epoch_s: int) -> Path:
    """``culvert-VERSION.spdx.json``; a copy in the tree gets into the wheel (PEP 770)."""
    path = out_dir / f"culvert-{source.version}.spdx.json"
    path.write_text(json.dumps(_document(source, epoch_s), indent=1) + "\n")
    inside = source.tree / "sboms"
    inside.mkdir(exist_ok=True)
    (inside / "culvert.spdx.json").write_bytes(path.read_bytes())
    return path


def _document(source: Source, epoch_s: int) -> dict[str, Any]:
    own = Part("culvert", source.version, "pkg:pypi/culvert", "Apache-2.0", "")
    parts = sorted({*_crates(source.tree), *_python(source.tree), _rust()})
    checksum = hashlib.sha256(source.archive.read_bytes()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"culvert-{source.version}",
        "documentNamespace": f"{NAMESPACE}/culvert-{source.version}-{checksum}",
        "creationInfo": {
            "created": datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: culvert-release"],
        },
        "packages": [one.described for one in (own, *parts)],
        "relationships": [
            {
                "spdxElementId": before,
                "relationshipType": relation,
                "relatedSpdxElement": after,
            }
            for before, relation, after in (
                ("SPDXRef-DOCUMENT", "DESCRIBES", own.spdx_id),
                *((own.spdx_id, one.relation, one.spdx_id) for one in parts),
            )
        ],
    }


@dataclass(frozen=True)
class Crate:
    """A crate that the programs link; ``folder`` has its files, ``sha256`` is of its archive."""

    name: str
    version: str
    licence: str
    sha256: str
    folder: Path


def linked_crates(tree: Path) -> list[Crate]:
    """What the programs link, without macros and build scripts, by name."""
    locked = tomllib.loads((tree / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum", "") for one in locked}
    known = json.loads(said("cargo", "metadata", "--locked", "--format-version", "1", cwd=tree))
    folders = {
        (one["name"], one["version"]): Path(one["manifest_path"]).parent
        for one in known["packages"]
    }
    lines = said(
        *("cargo", "tree", "--locked", "--workspace", "--edges", "normal,no-proc-macro"),
        *("--prefix", "none", "--target", "x86_64-unknown-linux-musl", "--format", "{p}|{l}"),
        cwd=tree,
    ).splitlines()
    found = {}
    for line in filter(None, lines):
        package, _, licence = line.removesuffix(" (*)").partition("|")
        name, version = package.split()[:2]
        key = name, version.removeprefix("v")
        if not name.startswith("culvert-"):
            # Old manifests separate licences by a slash.
            licences = licence.replace("/", " OR ") or "NOASSERTION"
            found[key] = Crate(*key, licences, checksums[key], folders[key])
    return [found[key] for key in sorted(found)]


def _crates(tree: Path) -> Iterator[Part]:
    for crate in linked_crates(tree):
        purl = f"pkg:cargo/{crate.name}"
        yield Part(crate.name, crate.version, purl, crate.licence, "STATIC_LINK", crate.sha256)


def _rust() -> Part:
    version = said("rustc", "--version").split()[1]
    licence = "MIT OR Apache-2.0"
    return Part("rust-std", version, "pkg:generic/rust-std", licence, "STATIC_LINK")


def _python(tree: Path) -> Iterator[Part]:
    """What culvert needs, and what that needs. Some have several versions, for several Pythons."""
    locked = tomllib.loads((tree / "uv.lock").read_text())["package"]
    needed = {
        package["name"]: {one["name"] for one in package.get("dependencies", [])}
        for package in locked
    }
    wanted, seen = {"culvert"}, set[str]()
    while wanted - seen:
        name = (wanted - seen).pop()
        seen.add(name)
        wanted |= needed[name]
    for package in locked:
        name = package["name"]
        if name in seen and name != "culvert":
            purl = f"pkg:pypi/{name}"
            sha256 = package.get("sdist", {}).get("hash", "").removeprefix("sha256:")
            yield Part(name, package["version"], purl, _licence(name), "DEPENDS_ON", sha256)


def _licence(package: str) -> str:
    """As its metadata has it, where that is an SPDX expression (PEP 639)."""
    try:
        declared = metadata(package).json
        named = declared.get("license_expression") or declared.get("license") or ""
        return str(canonicalize_license_expression(str(named)))
    except (InvalidLicenseExpression, PackageNotFoundError):  # free text; of another platform
        return "NOASSERTION"


def said(*words: str, cwd: Path | None = None) -> str:
    """What a program prints. Raises CalledProcessError."""
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True).stdout
