"""Records of tests in the state directory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.features.record import add_records, read_records

from .test_framework import record


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("CULVERT_STATE", str(directory))
    return directory


def test_records_come_back_and_newer_ones_replace_older_ones(state: Path) -> None:
    assert read_records() == []
    first, other = record(None), replace(record(holds=True), test="another-test")
    assert add_records([first, other]) == state / "features.json"
    assert read_records() == [first, other]
    newer = replace(record(holds=True), version="1.3")
    add_records([newer])
    assert read_records() == [other, newer]


def test_commands_at_the_same_time_lose_no_record(state: Path) -> None:
    tests = [f"test-{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: add_records([replace(record(None), test=name)]), tests))
    assert sorted(one.test for one in read_records()) == sorted(tests)


@pytest.mark.parametrize("text", ["{", '[{"vpn": 1}]', '[{"criterion": "none"}]', "[1]"])
def test_a_file_that_is_no_list_of_records_is_named(state: Path, text: str) -> None:
    state.mkdir()
    (state / "features.json").write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        read_records()


def test_a_directory_that_cannot_be_written_is_named(state: Path) -> None:
    state.write_text("a file")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        add_records([record(holds=True)])
    assert "CULVERT_STATE" in caught.value.remedy
