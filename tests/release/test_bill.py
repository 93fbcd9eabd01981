"""The bill of materials, and the archive that it belongs to."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from release.bill import linked_crates, write_bill
from release.notices import write_notices
from release.source import Source, make_source

from tests.test_pins import LOCKED

EPOCH_S = 1_700_000_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = tmp_path_factory.mktemp("source")
    (folder / "out").mkdir()
    return make_source(folder / "out", folder, EPOCH_S)


def test_equal_commits_give_equal_archives(source: Source, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    again = make_source(tmp_path / "out", tmp_path, EPOCH_S)
    assert again.archive.name == source.archive.name
    assert again.archive.read_bytes() == source.archive.read_bytes()


def test_the_archive_has_files_instead_of_links(source: Source) -> None:
    with tarfile.open(source.archive) as archive:
        members = {one.name.partition("/")[2]: one for one in archive.getmembers()}
    for name in ("ansible/install.yml", "docs/api.md", "studies/quick.toml"):
        assert members[f"src/culvert/{name}"].isfile()
    assert not any(one.issym() or one.islnk() for one in members.values())
    assert {one.mtime for one in members.values()} == {EPOCH_S}


def test_the_bill_lists_what_is_linked_and_what_is_required(source: Source) -> None:
    path = write_bill(source, source.archive.parent, EPOCH_S)
    bill: dict[str, Any] = json.loads(path.read_text())
    assert bill["spdxVersion"] == "SPDX-2.3"
    packages = {one["SPDXID"]: one for one in bill["packages"]}
    assert len(packages) == len(bill["packages"])  # every id once
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in packages)
    related = {
        packages[one["relatedSpdxElement"]]["name"]: one["relationshipType"]
        for one in bill["relationships"]
    }
    assert related["culvert"] == "DESCRIBES"
    assert related["ring"] == related["rust-std"] == "STATIC_LINK"
    assert related["polars"] == related["altair"] == "DEPENDS_ON"
    assert "proptest" not in related  # of the crates' tests
    assert "pytest" not in related
    by_name = {one["name"]: one for one in bill["packages"]}
    assert by_name["polars"]["versionInfo"] == LOCKED["polars"]["version"]
    assert by_name["serde_json"]["licenseDeclared"] == "MIT OR Apache-2.0"
    assert by_name["culvert"]["versionInfo"] == source.version
    linked = [packages[one["relatedSpdxElement"]] for one in bill["relationships"]]
    linked = [
        one for one in linked if one["externalRefs"][0]["referenceLocator"].startswith("pkg:cargo")
    ]
    assert len(linked) > 90
    assert all(len(one["checksums"][0]["checksumValue"]) == 64 for one in linked)
    assert by_name["rich"]["licenseDeclared"] == "MIT"
    assert (source.tree / "sboms/culvert.spdx.json").read_bytes() == path.read_bytes()


def test_the_notices_have_the_licence_of_each_linked_crate(source: Source) -> None:
    text = write_notices(source).read_text()
    crates = linked_crates(source.tree)
    parts = {part.partition("\n")[0]: part for part in text.split("~" * 78 + "\n")[1:]}
    heads = [f"{one.name} {one.version}: {one.licence}" for one in crates]
    assert set(heads) == parts.keys() - {"rust-std: MIT OR Apache-2.0"}
    assert "Permission is hereby granted" in parts["rust-std: MIT OR Apache-2.0"]
    without = [head for head in heads if len(parts[head]) < 500]
    assert len(without) < 10, without
