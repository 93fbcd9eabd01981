"""What installations took, kept and read again, whatever happened to the file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.install.log import FILE, latest_installs, remember
from culvert.install.roles import InstallResult

GOOD = (
    '{"vpn": "openvpn", "role": "openvpn", "duration_s": 2.5, "changed": true, "ok": true, '
    '"version": "2.6", "at": "2026-01-02T03:04:05+01:00"}'
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))
    return tmp_path / "tools" / FILE


def result(vpn: str, *, changed: bool = True, ok: bool = True, s: float = 3.0) -> InstallResult:
    return InstallResult(vpn, vpn.partition("/")[0], ok, changed, s, None, ())


def test_the_latest_that_did_something_of_each_vpn_asked_for(log: Path) -> None:
    remember([result("openvpn", s=9.0), result("wireguard/go", ok=False)])
    remember([result("openvpn", s=4.0), result("strongswan")])
    remember([result("openvpn", changed=False, s=0.1)])
    found = {r.vpn: r for r in latest_installs({"openvpn/aes-256-gcm", "wireguard/go", "none"})}
    assert set(found) == {"openvpn", "wireguard/go"}
    assert found["openvpn"].duration_s == 4.0
    assert not found["wireguard/go"].ok
    assert found["openvpn"].version == ""


def test_where_nothing_was_installed_there_is_nothing(log: Path) -> None:
    remember([result("openvpn", changed=False)])
    assert not log.exists()
    assert latest_installs({"openvpn/x"}) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        GOOD[:40],
        "[1]",
        "null",
        "7",
        "[" * 100_000,
        GOOD.replace("2.5", "NaN"),
        GOOD.replace("2.5", "1e999"),
        GOOD.replace("2.5", "9" * 400),
        GOOD.replace("2.5", '"x"'),
        GOOD.replace("2026-01-02T", "yesterday "),
        GOOD.replace("2026-01-02T03:04:05+01:00", "0001-01-01T00:00:00+14:00"),
        GOOD.replace('"role"', '"rolle"'),
        "\udcff",
    ],
)
def test_a_damaged_line_is_passed_over(log: Path, line: str) -> None:
    log.parent.mkdir()
    log.write_text(f"{GOOD}\n{line}\n", encoding="utf-8", errors="surrogateescape")
    (found,) = latest_installs({"openvpn/x"})
    assert found.duration_s == 2.5
    assert found.at == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(log: Path, content: bytes) -> None:
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(content)
    assert latest_installs({"openvpn/x"}) == []


def test_a_file_that_cannot_be_read_is_no_obstacle(log: Path) -> None:
    log.mkdir(parents=True)
    assert latest_installs({"openvpn/x"}) == []


def test_a_file_that_cannot_be_written_is_told(log: Path) -> None:
    log.parent.write_text("a file where the directory should be")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        remember([result("openvpn")])
    assert "CULVERT_TOOLS" in caught.value.remedy
