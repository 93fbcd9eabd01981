"""No file makes an importer fall over; ``make fuzz`` tries for longer."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.journal.readers.formats import ForeignFormat

from .hurt import hurt
from .samples import SAMPLES
from .survival import import_any, read_any

FORMATS = st.sampled_from(list(ForeignFormat))
EVERYTHING = [one for samples in SAMPLES.values() for one in samples]


@given(FORMATS, st.binary(max_size=500))
@settings(max_examples=200)
def test_any_bytes_are_read_or_refused(form: ForeignFormat, content: bytes) -> None:
    _read(form, content)


@given(st.data(), st.integers(0, 2**64))
@settings(max_examples=400)
def test_damaged_files_are_read_or_refused(data: st.DataObject, seed: int) -> None:
    form = data.draw(FORMATS)
    sample = data.draw(st.sampled_from(SAMPLES[form]))
    _read(form, hurt(sample, random.Random(seed), EVERYTHING))


@pytest.mark.parametrize("form", list(ForeignFormat))
def test_a_file_cut_off_anywhere(form: ForeignFormat) -> None:
    for sample in SAMPLES[form]:
        for end in range(0, len(sample), max(1, len(sample) // 60)):
            _read(form, sample[:end])


@pytest.mark.parametrize("form", list(ForeignFormat))
def test_journals_of_hurt_files(form: ForeignFormat, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for seed in range(3):
        for sample in SAMPLES[form]:
            path.write_bytes(hurt(sample, random.Random(seed), EVERYTHING))
            import_any(form, path)


def _read(form: ForeignFormat, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(content)
        read_any(form, path)
