"""ro-crate-metadata.json: what a bundle is, for archives (https://w3id.org/ro/crate/1.1).

The root is the bundle's folder; the run that made the journal is a CreateAction, as in the profile
Process Run Crate. By hand: the library ``rocrate`` brings an HTTP client for forty lines of JSON.
A test reads the result with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from culvert.journal.journal import FILE

NAME = "ro-crate-metadata.json"
_VERSION = "https://w3id.org/ro/crate/1.1"

_DESCRIPTIONS = {
    FILE: "Journal: every trial with its figures and evidence",
    "study.toml": "The study: what was to be measured, and the claims to test",
    "study.json": "The study with all defaults",
    "environment.json": "The machine, the run's sessions, and what was installed",
    "evidence.jsonl": "What each trial proved, one line a trial",
}
_FORMATS = {
    ".sqlite": "application/vnd.sqlite3",
    ".toml": "application/toml",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
}


def crate(run: Mapping[str, Any], members: Mapping[str, Path]) -> bytes:
    """The metadata of a bundle; ``run`` is the journal's, ``members`` are the files by name."""
    program = f"https://pypi.org/project/culvert/{run['culvert_version']}/"
    title = run["title"] or run["study"]
    graph: list[dict[str, Any]] = [
        {
            "@id": NAME,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _VERSION},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": title,
            "description": f"A run of the study {run['study']}, measured by Culvert "
            f"{run['culvert_version']} in the lab {run['lab']}",
            "datePublished": run["ended_at"] or run["started_at"],
            "hasPart": [{"@id": name} for name in sorted(members)],
            "mentions": {"@id": "#run"},
        },
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"culvert run {run['study']}",
            "startTime": run["started_at"],
            "endTime": run["ended_at"] or run["started_at"],
            "instrument": {"@id": program},
            "object": {"@id": "study.toml"},
            "result": {"@id": FILE},
        },
        {
            "@id": program,
            "@type": "SoftwareApplication",
            "name": "Culvert",
            "softwareVersion": run["culvert_version"],
        },
        *(_file(name, path) for name, path in sorted(members.items())),
    ]
    found = {"@context": f"{_VERSION}/context", "@graph": graph}
    return json.dumps(found, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _file(name: str, path: Path) -> dict[str, Any]:
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "description": _DESCRIPTIONS.get(name, "A table of the report"),
        "encodingFormat": _FORMATS[path.suffix],
        "contentSize": str(path.stat().st_size),
    }
