"""The bill of materials, and the archive that it belongs to."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from release.bill import write_bill
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
