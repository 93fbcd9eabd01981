"""An OpenVPN beside the distribution's, from an archive that is made up here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from culvert.debian import Archive
from culvert.errors import CulvertError, NotPossible
from culvert.vpns.openvpn import fetch as openvpn_fetch
from culvert.vpns.openvpn import program as openvpn_program
from culvert.vpns.openvpn.choice import Choice
from culvert.vpns.parts import newer
from tests.here import HERE

SAYS = "OpenVPN 2.7.8 x86_64-pc-linux-gnu {}\nlibrary versions: OpenSSL 3.5.7, LZO 2.10\n"
LOADER = """#!/bin/sh
[ "$1" = --library-path ] && [ -e "$2/libc.so.6" ] && [ -e "$3" ] && [ "$4" = --version ] || exit 9
cat <<END
{}END
"""


class Made(Archive):
    """Its openvpn is as new as ``versions`` say, by the first suite."""

    versions: dict[str, str]
    says = SAYS.format("[DCO]")

    def open(self) -> None:
        pass

    def version(self, package: str) -> str:
        assert package == "openvpn"
        return self.versions[self.suites[0]]

    def unpack_with_libraries(self, packages: Sequence[str], suite: str, target: Path) -> None:
        assert (packages, suite) == (("openvpn",), self.suites[0])
        for name, text in (
            ("usr/sbin/openvpn", "a program"),
            ("usr/lib/any-linux-gnu/libc.so.6", "a library"),
            ("usr/lib64/ld-linux-any.so.2", LOADER.format(self.says)),
        ):
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)


def find(variant: str, *options: str) -> str | None:
    return openvpn_program.find(HERE, Choice.of(variant, frozenset(options)))


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> type[Made]:
    monkeypatch.setattr(Made, "versions", dict.fromkeys(("trixie-backports", "testing"), "2.7.8-1"),
                        raising=False)  # fmt: skip
    monkeypatch.setattr(newer, "Archive", Made)
    return Made


def test_it_runs_with_its_own_libraries_from_where_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openvpn_fetch.fetch(tmp_path)
    link = tmp_path / "bin" / openvpn_program.BESIDE
    program = str(link)
    assert openvpn_program.drives(HERE, program, openvpn_program.IN_TREE)
    assert openvpn_program.version(HERE, program) == "2.7.8, package 2.7.8-1, OpenSSL 3.5.7"
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    monkeypatch.setattr(openvpn_program, "kernel_kind", lambda _: None)
    assert find("dco-aes-256-gcm") == find("aes-256-gcm", "x25519mlkem768") == program
    assert find("aes-256-gcm") != program
    # Again, as for a newer version: the link leads to the new one.
    monkeypatch.setattr(Made, "versions", {"trixie-backports": "2.7.9-1"})
    openvpn_fetch.fetch(tmp_path)
    assert link.resolve().parent.name == "2.7.9-1"


def test_where_one_release_is_too_old_the_next_is_asked(monkeypatch: pytest.MonkeyPatch,
                                                        tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.setattr(Made, "versions", {"trixie-backports": "2.6.14-1", "testing": "2.8.0-1"})
    assert openvpn_fetch.fetch(tmp_path) == "2.8.0-1"
    monkeypatch.setattr(Made, "versions", dict.fromkeys(("trixie-backports", "testing"), "2.6.14"))
    with pytest.raises(NotPossible, match="trixie-backports or testing"):
        openvpn_fetch.fetch(tmp_path / "other")
    assert not (tmp_path / "other/bin").exists()


def test_one_that_cannot_offload_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Made, "says", SAYS.format("[AEAD]"))
    with pytest.raises(CulvertError, match="has no data channel offload"):
        openvpn_fetch.fetch(tmp_path)
    assert list((tmp_path / openvpn_program.BESIDE).iterdir()) == []
    assert not (tmp_path / "bin").exists()


def test_why_there_is_none_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def closed(self: Archive) -> None:
        raise CulvertError("apt-get update", "no route", "name a mirror")

    monkeypatch.setattr(Made, "open", closed)
    monkeypatch.setattr("sys.argv", ["fetch", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        openvpn_fetch.OPENVPN.main(openvpn_fetch.fetch)
    assert ended.value.code == "apt-get update: no route; name a mirror"


def test_a_package_comes_with_its_libraries_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    downloaded: list[str] = []
    answers = {
        "install": "Reading...\nInst libc6 (2.41-12 Debian:13.1/stable [amd64])\n"
        "Inst debconf (1.5 Debian:13.1/stable [all])\n"
        "Inst openvpn [2.6] (2.7.8-1 Debian:13/trixie-backports [amd64])\n",
        "show": "Package: libc6\nSection: libs\n\nPackage: debconf\nSection: admin\n\n"
        "Package: openvpn\nSection: net\n",
    }

    def run(self: Archive, argv: Sequence[str], cwd: Path | None = None) -> str:
        if "download" in argv:
            downloaded.extend(argv[3:])
        return next((text for word, text in answers.items() if word in argv), "")

    monkeypatch.setattr(Archive, "_run", run)
    Archive(tmp_path, ["s"]).unpack_with_libraries(["openvpn"], "s", tmp_path / "tree")
    assert downloaded == ["libc6=2.41-12", "openvpn=2.7.8-1"]
