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
from pathlib import Path
from typing import Any

from release.source import Source

NAMESPACE = "https://culvert.invalid/spdx"
"""Of documents; SPDX wants a URI, not an address that answers."""


@dataclass(frozen=True, order=True)
class Part:
    """``purl`` is its package URL without version; ``relation`` is Culvert's to it."""

    name: str
    version: str
    purl: str
    licence: str
    relation: str

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
            "externalRefs": [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": f"{self.purl}@{self.version}",
                }
            ],
        }


def write_bill(source: Source, out_dir: Path, epoch_s: int) -> Path:
    """``culvert-VERSION.spdx.json``."""
    path = out_dir / f"culvert-{source.version}.spdx.json"
    path.write_text(json.dumps(_document(source, epoch_s), indent=1) + "\n")
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


def _crates(tree: Path) -> Iterator[Part]:
    """What the programs link, without macros and build scripts."""
    lines = _said(
        *("cargo", "tree", "--locked", "--workspace", "--edges", "normal,no-proc-macro"),
        *("--prefix", "none", "--target", "x86_64-unknown-linux-musl", "--format", "{p}|{l}"),
        cwd=tree,
    ).splitlines()
    for line in filter(None, lines):
        package, _, licence = line.removesuffix(" (*)").partition("|")
        name, version = package.split()[:2]
        if not name.startswith("culvert-"):
            # Old manifests separate licences by a slash.
            licences = licence.replace("/", " OR ") or "NOASSERTION"
            yield Part(
                name, version.removeprefix("v"), f"pkg:cargo/{name}", licences, "STATIC_LINK"
            )


def _rust() -> Part:
    version = _said("rustc", "--version").split()[1]
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
            yield Part(name, package["version"], purl, "NOASSERTION", "DEPENDS_ON")


def _said(*words: str, cwd: Path | None = None) -> str:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True).stdout
