"""Histograms are decoded as HdrHistogram itself does it; what is none is refused with its place."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.errors import JournalError
from culvert.journal.histogram import MOST_BYTES, counts_of, unpacked
from culvert.journal.histogram import encoded as encoded_here
from tests.effort import cpu_s
from tests.journal import attacks
from tests.journal.dummies import encoded
from tests.journal.test_attacks import read_all

HEAD = struct.Struct(">IIIIQQd")
PLAIN, COMPRESSED = 0x1C849313, 0x1C849314


def histogram(
    counts: bytes,
    *,
    digits: int = 3,
    lowest: int = 1,
    highest: int = 10**9,
    length: int | None = None,
    offset: int = 0,
) -> str:
    head = HEAD.pack(
        PLAIN, len(counts) if length is None else length, offset, digits, lowest, highest, 1.0
    )
    packed = zlib.compress(head + counts, 9)
    return base64.b64encode(struct.pack(">II", COMPRESSED, len(packed)) + packed).decode()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 60_000_000_000), max_size=60),
    st.integers(1, 5),
    st.sampled_from([1, 2, 1000, 1500]),
)
def test_the_counts_are_those_of_another_implementation(
    values: list[int], digits: int, lowest: int
) -> None:
    text = encoded(values, digits=digits, lowest=lowest)
    theirs = HdrHistogram.decode(text)
    expected: dict[int, int] = {}
    for value in values:
        place = theirs.get_highest_equivalent_value(value)
        expected[place] = expected.get(place, 0) + 1
    ours = counts_of(text)
    assert dict(zip(ours.values.tolist(), ours.counts.tolist(), strict=True)) == expected
    assert (np.diff(ours.values) > 0).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 60_000_000_000), max_size=60))
def test_the_encoding_is_that_of_another_implementation(values: list[int]) -> None:
    text = encoded_here(values, 60_000_000_000)
    assert HdrHistogram.decode(text).get_total_count() == len(values)
    assert unpacked(text) == unpacked(encoded(values))


BAD = {
    "no base64": "HISTF*",
    "no text of ASCII": "HISTFä",
    "nothing": "",
    "a header cut off": base64.b64encode(b"\x1c\x84\x93").decode(),
    "another encoding": base64.b64encode(HEAD.pack(1, 0, 0, 3, 1, 9, 1.0)).decode(),
    "no deflate": base64.b64encode(struct.pack(">II", COMPRESSED, 4) + b"abcd").decode(),
    "an incomplete number": histogram(b"\x02\x80"),
    "a long number": histogram(b"\xff" * 8 + b"\x01"),
    "an overlong number": histogram(b"\xff" * 4000 + b"\x01"),
    "a long run of nothing": histogram(b"\xff" * 7 + b"\x7f" + b"\x02"),
    "many long runs": histogram((b"\xff" * 6 + b"\x7f") * 5000 + b"\x02"),
    "counts beyond all bounds": histogram((b"\xfe" * 7 + b"\x7f") * 40),
    "a value above the highest": histogram(b"\x02" * 40_000),
    "fewer bytes than its header says": histogram(b"\x02", length=2**31),
    "no digits": histogram(b"\x02", digits=0),
    "many digits": histogram(b"\x02", digits=2**31),
    "lowest zero": histogram(b"\x02", lowest=0),
    "highest below lowest": histogram(b"\x02", lowest=50, highest=9),
    "the highest of all": histogram(b"\x02", highest=2**64 - 1),
    "another offset": histogram(b"\x02", offset=7),
    "a bomb": histogram(bytes(200 << 20)),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_none_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        counts_of(BAD[name])
    run = attacks.made(tmp_path / "run")
    attacks.assign(run, "histogram", "hdr_v2", BAD[name], row=2)
    with pytest.raises(JournalError, match="histogram rtt_ns of trial 2: ") as caught:
        read_all(run)
    assert "another directory" in caught.value.remedy


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40), st.binary(max_size=60).map(lambda b: base64.b64encode(b).decode())
    )
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        counts_of(text)


def test_one_that_is_cut_off_is_refused() -> None:
    data = base64.b64decode(encoded(list(range(1, 5000, 7))))
    parts = [data[:cut] for cut in range(0, len(data), max(1, len(data) // 40))]
    for damaged in (*parts, data[:4] + struct.pack(">I", 5) + data[8:]):
        with pytest.raises(ValueError, match=r"."):
            counts_of(base64.b64encode(damaged).decode())


def test_many_that_are_large_when_unpacked_are_refused_soon(tmp_path: Path) -> None:
    run = attacks.made(tmp_path / "run")
    large = histogram(bytes(MOST_BYTES - HEAD.size))
    assert counts_of(large).counts.size == 0
    rows = ", ".join(f"({attacks.TRIALS}, 'n', 'ns', '{{}}', '{large}')" for _ in range(100))
    columns = "trial_id, name, unit, labels, hdr_v2"
    attacks.execute(run, f"INSERT INTO histogram ({columns}) VALUES {rows}")
    attacks.assign(run, "histogram", "name", "n")
    begun = cpu_s()
    with pytest.raises(JournalError, match="too large"):
        read_all(run)
    assert cpu_s() - begun < 10
