from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.vpns.versions import GoBuild, read_go_build
from tests.here import HERE

MARK = b"\xff Go buildinf:"


def varint(length: int) -> bytes:
    out = bytearray()
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*out, length])


def blob(go: bytes, modules: bytes, *, flags: int = 2) -> bytes:
    listing = b"<" * 16 + modules + b">" * 16
    header = MARK + bytes([8, flags]) + b"\0" * 16
    return header + varint(len(go)) + go + varint(len(listing)) + listing


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "program"


def test_module_and_version(program: Path) -> None:
    modules = b"path\texample.org/x\nmod\texample.org/x\tv1.2.3\th1:abc=\ndep\tother\tv9\th1:d=\n"
    program.write_bytes(b"\x7fELF" + b"\0" * 60 + blob(b"go1.26.8", modules + b"x" * 300))
    assert read_go_build(HERE, str(program)) == GoBuild("go1.26.8", "example.org/x", "v1.2.3")


def test_a_program_that_another_module_requires(program: Path) -> None:
    modules = (
        b"path\texample.org/x/cmd/y\nmod\tculvert\t(devel)\t\n"
        b"dep\texample.org/x\tv1.2.3\th1:abc=\ndep\texample.org/x/cm\tv9\th1:d=\n"
    )
    program.write_bytes(blob(b"go1.26.8", modules))
    assert read_go_build(HERE, str(program)) == GoBuild("go1.26.8", "example.org/x", "v1.2.3")


def test_a_program_without_a_module(program: Path) -> None:
    program.write_bytes(blob(b"go1.19.8", b"path\texample.org/x\nbuild\t-trimpath=true\n"))
    assert read_go_build(HERE, str(program)) == GoBuild("go1.19.8", None, None)


def test_the_magic_in_a_string_is_not_it(program: Path) -> None:
    program.write_bytes(b"abc" + MARK + b"!" * 31 + blob(b"go1.20", b"path\tm\nmod\tm\tv2\t\n"))
    assert read_go_build(HERE, str(program)) == GoBuild("go1.20", "m", "v2")


@pytest.mark.parametrize(
    "content",
    [b"", b"#!/bin/sh\n", MARK, MARK + b"\x08\x02", blob(b"go1.17", b"", flags=0)],
)
def test_anything_else_is_none(program: Path, content: bytes) -> None:
    program.write_bytes(content)
    assert read_go_build(HERE, str(program)) is None


def test_a_missing_program_is_none(program: Path) -> None:
    assert read_go_build(HERE, str(program)) is None


@given(cut=st.integers(0, 200))
def test_of_a_cut_off_program_nothing_wrong_is_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    program = tmp_path_factory.mktemp("cut") / "program"
    whole = blob(b"go1.26", b"path\tm\nmod\tm\tv2\th1:x\n" * 8)
    program.write_bytes(whole[:cut])
    found = read_go_build(HERE, str(program))
    assert found in (None, GoBuild("go1.26", None, None), GoBuild("go1.26", "m", "v2"))
