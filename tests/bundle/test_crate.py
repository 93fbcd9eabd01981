from __future__ import annotations

import json
from pathlib import Path

from rocrate.rocrate import ROCrate

from culvert.bundle.crate import NAME
from culvert.bundle.verify import verify
from culvert.bundle.write import bundle
from tests.compare.runs import write_run


def test_a_bundle_is_a_research_object(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8]})
    unpacked = tmp_path / "unpacked"
    assert not verify(bundle(run, tmp_path / "a.zip").path, unpacked).problems

    found = ROCrate(unpacked)  # raises where it is none
    root = found.root_dataset
    assert root["name"] == "Made up"
    assert root["datePublished"]
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*.*")}
    assert {one.id for one in root["hasPart"]} == files - {NAME}
    action = found.get("#run")
    assert action["object"].id == "study.toml"
    assert action["result"].id == "journal.sqlite"
    assert action["instrument"]["softwareVersion"] == "0.1.0"


def test_it_conforms_to_what_it_names(tmp_path: Path) -> None:
    """RO-Crate 1.1: the metadata file names the version and the root; each reference is there."""
    run = write_run(tmp_path / "run", {"none": [9e8]})
    unpacked = tmp_path / "unpacked"
    verify(bundle(run, tmp_path / "a.zip").path, unpacked)
    written = json.loads((unpacked / NAME).read_text())
    graph = {one["@id"]: one for one in written["@graph"]}
    assert written["@context"] == "https://w3id.org/ro/crate/1.1/context"
    assert graph[NAME]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert graph[NAME]["about"] == {"@id": "./"}
    for entity in graph.values():
        for value in entity.values():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict) and "conformsTo" not in entity:
                    assert one["@id"] in graph
