"""Files that the wire replays: what is read of them, and what is refused."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import LabError, UsageError
from culvert.topology.link import recorded
from culvert.topology.link.recorded import Delays, Trace


def written(directory: Path, content: str | bytes) -> Path:
    path = directory / "recorded"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_trace_has_a_mean_rate(tmp_path: Path) -> None:
    trace = Trace.read(written(tmp_path, "5\n10\n10\n\n1000\n"))
    assert trace.mean_rate_bps == 4 * 1514 * 8


def test_delays_have_a_middle(tmp_path: Path) -> None:
    delays = Delays.read(written(tmp_path, "# ping\n1\n0.5\n12\n"))
    assert [delays.per_cent_ns[share] for share in (0, 50, 100)] == [500_000, 1_000_000, 12_000_000]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "no delivery opportunity"),
        ("0\n0\n", "last time is 0"),
        ("5\n4\n", "line 2 is earlier"),
        ("1\n2.5\n", "line 2 is not a number"),
        ("-1\n", "line 1"),
        ("86400001\n", "line 1"),
        ("\u0661\n", "line 1"),
        (b"\xff\xfe", "not text"),
    ],
)
def test_broken_traces_are_refused(tmp_path: Path, content: str | bytes, why: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError, match=why) as caught:
        Trace.read(path)
    assert caught.value.what == str(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("# nothing\n", "no delay"),
        ("1\nx\n", "line 2"),
        ("nan\n", "line 1"),
        ("inf\n", "line 1"),
        ("60001\n", "line 1"),
        (b"\xff", "not text"),
    ],
)
def test_broken_delays_are_refused(tmp_path: Path, content: str | bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Delays.read(written(tmp_path, content))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError):
            Trace.read(path)


@pytest.mark.parametrize("kind", [Trace, Delays])
def test_special_files_are_refused_at_once(tmp_path: Path, kind: type[Trace | Delays]) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (Path("/dev/zero"), tmp_path / "fifo"):
        with pytest.raises(UsageError):
            kind.read(path)
    changed = kind.read(written(tmp_path, "1\n"))
    changed.path.unlink()
    changed.path.symlink_to("/dev/zero")
    with pytest.raises(UsageError):
        changed.unchanged()


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    trace = Trace.read(written(tmp_path, "1\n"))
    assert trace.unchanged() == trace.path
    written(tmp_path, "2\n")
    with pytest.raises(LabError, match="has changed"):
        trace.unchanged()
    trace.path.unlink()
    with pytest.raises(LabError, match="No such file"):
        trace.unchanged()


def test_equal_content_is_equal_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    assert Trace.read(written(tmp_path, "7\n")) == Trace.read(written(tmp_path / "x", "7\n"))


@given(st.binary(max_size=60))
def test_no_bytes_are_more_than_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("f"), content)
    for read in (Trace.read, Delays.read):
        with suppress(UsageError):
            assert read(path).sha256


def test_a_file_that_many_name_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    content = recorded._content

    def counted(path: Path) -> bytes:
        read.append(path)
        return content(path)

    monkeypatch.setattr(recorded, "_content", counted)
    good, bad = written(tmp_path, "1\n2\n"), tmp_path / "bad"
    bad.write_text("x")
    for _ in range(100):
        assert Trace.read(good).mean_rate_bps > 0
        with pytest.raises(UsageError, match="line 1"):
            Delays.read(bad)
    assert read == [good, bad]
    written(tmp_path, "1\n2\n3\n")
    assert Trace.read(good).mean_rate_bps > 0
    assert read == [good, bad, good]


@pytest.mark.parametrize("kind", [Trace, Delays])
def test_more_lines_than_any_recording_are_refused_at_once(
    tmp_path: Path, kind: type[Trace | Delays]
) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"1\n" * (30 << 20))
    begun = time.process_time()
    with pytest.raises(UsageError, match="more than 5000000 lines"):
        kind.read(path)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than"):
        kind.read(path)
    assert time.process_time() - begun < 2
