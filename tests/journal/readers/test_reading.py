from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.journal.readers import reading
from culvert.journal.readers.figures import figure, figure_in
from culvert.journal.readers.reading import name_of, natural, read_bytes, text_of


def test_text_of_any_system() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert text_of("f", "é\r\nb\rc\n".encode(encoding)).lines() == ["é", "b", "c", ""]


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    found = text_of("f", b"a\nb\xff\n")
    assert found.text == "a\nb\ufffd\n"
    assert [(lost.line, lost.why) for lost in found.lost] == [
        (2, "bytes that are not UTF-8 text were replaced")
    ]


def test_gzip_of_several_members() -> None:
    assert text_of("f", gzip.compress(b"a") + gzip.compress(b"b")).text == "ab"


@pytest.mark.parametrize("damage", [slice(0, -9), slice(0, 3)])
def test_gzip_that_is_cut_off(damage: slice) -> None:
    found = text_of("f", gzip.compress(b"a" * 100)[damage])
    assert [lost.why for lost in found.lost] == ["its compressed data is truncated"]


def test_a_gzip_bomb_is_unpacked_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    found = text_of("f", gzip.compress(b"\0" * (20 << 20)))
    assert len(found.text) == 1 << 20
    assert "unpacks to more than 1 MiB" in found.lost[0].why


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"1" * 100)
    monkeypatch.setattr(reading, "MOST_BYTES", 99)
    for path in (tmp_path / "none", tmp_path, large, Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(UsageError):
            read_bytes(path)


def test_names_sort_by_their_numbers() -> None:
    names = ["run10", "run2", "a/run1", "run1", "٣"]
    assert sorted(names, key=natural) == ["a/run1", "run1", "run2", "run10", "٣"]


def test_only_finite_numbers_are_figures() -> None:
    assert [figure(value) for value in (1, 1.5, "1", True, None, float("nan"), 10**400)] == [
        1.0,
        1.5,
        *[None] * 5,
    ]
    told = ["1", "-.5e3", " 2 ", "1_0", "nan", "inf", "1e999", "", "٣", "0x1", "1" * 65]
    assert [figure_in(text) for text in told] == [1.0, -500.0, 2.0, *[None] * 8]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("tailscale-1.98.2.json", "tailscale-1.98.2"),
        ("tailscale-1.98.2", "tailscale-1.98.2"),
        ("wg.FLENT.gz", "wg"),
        ("wg.json.txt", "wg"),
        (".json", ".json"),
        ("v2.0", "v2.0"),
    ],
)
def test_a_name_keeps_its_version(name: str, found: str) -> None:
    assert name_of(Path("a.b") / name) == found
