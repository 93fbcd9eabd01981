"""No variable of the environment decides which packages are trusted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from culvert import debian
from culvert.errors import UsageError


@pytest.mark.parametrize(
    "uri",
    [
        "http://deb.debian.org/debian\nTrusted: yes",
        "http://deb.debian.org/debian Trusted: yes",
        "[trusted=yes] http://deb.debian.org/debian",
        "http://deb.debian.org/\r\nAllow-Insecure: yes",
        "deb.debian.org",
        "http://x/\n\nTypes: deb",
    ],
)
def test_a_mirror_is_an_address_and_nothing_else(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(debian.MIRROR_VARIABLE, uri)
    with pytest.raises(UsageError, match="not an address"):
        debian.mirror()


@pytest.mark.parametrize(
    "uri",
    ["http://deb.debian.org/debian", "https://user@mirror:8080/debian/", "file:///srv/mirror"],
)
def test_an_address_is_taken(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(debian.MIRROR_VARIABLE, uri)
    assert debian.mirror() == uri


def test_signatures_are_checked_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], dict[str, str]]] = []

    def run(argv: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        seen.append((argv, more["env"]))  # type: ignore[arg-type]
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setenv(debian.MIRROR_VARIABLE, "http://deb.debian.org/debian")
    monkeypatch.setenv("APT_CONFIG", "/evil")
    monkeypatch.setenv("GNUPGHOME", "/evil")
    monkeypatch.setattr("culvert.debian.tools.require", lambda *_: Path("/bin/true"))
    monkeypatch.setattr(debian, "KEYRING", Path("/dev/null"))
    monkeypatch.setattr("culvert.debian.subprocess.run", run)
    debian.Archive(tmp_path, ("trixie",)).open()
    ((argv, environment),) = seen
    assert argv[0] == "apt-get"
    assert all(word in argv for word in debian._CHECKS)
    assert environment["APT_CONFIG"] == str(tmp_path / "apt.conf")
    assert "GNUPGHOME" not in environment
