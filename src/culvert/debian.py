"""Packages of another Debian release, fetched without touching the system's apt.

The system's own mirror and keys are used, with lists and caches of our own; nothing is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert import tools
from culvert.errors import CulvertError, NotPossible, UsageError

MIRROR_VARIABLE = "CULVERT_DEBIAN_MIRROR"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_BY_HAND = f"name a Debian mirror in {MIRROR_VARIABLE}"
_URI = re.compile(r"(?:https?|file|copy|ftp|mirror\+https?)://?[\w.~:/@%+,=\[\]-]+")
"""Excludes text that could add a field to apt's source, such as a line "Trusted: yes"."""
_CHECKS = (
    "APT::Get::AllowUnauthenticated=false",
    "Acquire::AllowInsecureRepositories=false",
    "Acquire::AllowWeakRepositories=false",
    "Acquire::AllowDowngradeToInsecureRepositories=false",
)
"""On the command line, where they override every configuration of the machine (apt.conf(5))."""
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "ftp_proxy")
"""Variables that apt gets from the environment: no other can change what it trusts."""
_PACKAGE = re.compile(r"^Package: (\S+)$", re.MULTILINE)
_LIBRARY = re.compile(r"^Section: libs$", re.MULTILINE)
_PLANNED = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Archive:
    """apt's view of some suites, kept in ``directory``."""

    directory: Path
    suites: Sequence[str]

    def open(self) -> None:
        """Fetch the lists. Raises NotPossible without apt or a mirror."""
        tools.require("apt-get", "fetch packages on a Debian or Ubuntu machine")
        tools.require("dpkg-deb", "fetch packages on a Debian or Ubuntu machine")
        if not KEYRING.exists():
            raise NotPossible(
                "Debian's keys", f"{KEYRING} is missing", "apt-get install debian-archive-keyring"
            )
        for name in ("lists/partial", "cache/archives/partial", "sources", "preferences"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        source = (
            f"Types: deb\nURIs: {mirror()}\nSuites: {' '.join(self.suites)}\n"
            f"Components: main\nSigned-By: {KEYRING}\n"
        )
        (self.directory / "sources/debian.sources").write_text(source, encoding="utf-8")
        (self.directory / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "/dev/null";\n'
            f'Dir::Etc::sourceparts "{self.directory}/sources";\n'
            f'Dir::Etc::preferencesparts "{self.directory}/preferences";\n'
            f'Dir::State::lists "{self.directory}/lists";\n'
            f'Dir::Cache "{self.directory}/cache";\n'
            f'APT::Sandbox::User "";\n'
            f'Acquire::Languages "none";\n',
            encoding="utf-8",
        )
        self._run(["apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update"])

    def packages(self, pattern: str) -> list[str]:
        """Names of the packages that match a regular expression as a whole."""
        names = self._run(["apt-cache", "pkgnames"]).split()
        return sorted(name for name in names if re.fullmatch(pattern, name))

    def version(self, package: str) -> str:
        """The newest version of a package in these suites."""
        shown = self._run(["apt-cache", "madison", package])
        versions = [line.split("|")[1].strip() for line in shown.splitlines() if "|" in line]
        if not versions:
            raise CulvertError(
                f"the package {package}", f"is not in {', '.join(self.suites)}", _BY_HAND
            )
        return versions[0]

    def unpack(self, package: str, version: str, target: Path) -> None:
        """Download a package, check its signature's chain, unpack it below ``target``."""
        self._unpack([f"{package}={version}"], target)

    def unpack_with_libraries(self, packages: Sequence[str], suite: str, target: Path) -> None:
        """Download packages of a suite and every library that they need, the C library among them;
        unpack all below ``target``."""
        status = self.directory / "status"
        status.touch()  # as on a system without packages
        nothing = ["-o", f"Dir::State::status={status}", "--no-install-recommends"]
        chosen = [f"{package}/{suite}" for package in packages]
        planned = self._run(["apt-get", "-s", *nothing, "install", *chosen])
        wanted = [f"{name}={version}" for name, version in _PLANNED.findall(planned)]
        shown = self._run(["apt-cache", "show", *wanted]).split("\n\n")
        libraries = [text for text in shown if _LIBRARY.search(text)]
        needed = {*packages, *(name for text in libraries for name in _PACKAGE.findall(text))}
        self._unpack([word for word in wanted if word.partition("=")[0] in needed], target)

    def _unpack(self, words: Sequence[str], target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="downloads-", dir=self.directory) as downloads:
            self._run(["apt-get", "-qq", "download", *words], cwd=Path(downloads))
            for deb in Path(downloads).iterdir():
                self._run(["dpkg-deb", "--extract", str(deb), str(target)])

    def _run(self, argv: Sequence[str], cwd: Path | None = None) -> str:
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        program, *words = argv
        if program.startswith("apt-"):
            words = [*(word for check in _CHECKS for word in ("-o", check)), *words]
        done = subprocess.run(
            [program, *words],
            env={**kept, "APT_CONFIG": str(self.directory / "apt.conf"), "LC_ALL": "C"},
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            printed = done.stderr.strip().splitlines()
            action = next((word for word in argv if word.isalpha()), "")
            raise CulvertError(
                f"{argv[0]} {action}",
                printed[-1] if printed else f"exit code {done.returncode}",
                _BY_HAND,
            )
        return done.stdout


def mirror() -> str:
    """The Debian mirror that this machine uses. Raises NotPossible if there is none."""
    given = os.environ.get(MIRROR_VARIABLE)
    if given:
        if not _URI.fullmatch(given):
            raise UsageError(
                f"{MIRROR_VARIABLE}={given[:100]!r}",
                "it is not an address",
                "write it as http://deb.debian.org/debian",
            )
        return given
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in listed.stdout.splitlines():
        origin, label, uri = line.split("|", 2)
        if origin == "Debian" and label in {"Debian", "Debian Backports"}:
            return uri
    raise NotPossible("a Debian mirror", "this machine's apt has none", _BY_HAND)


def version_numbers(name: str) -> tuple[int, ...]:
    """The numbers of the first version, to sort packages and kernels: 7, 2, 12; empty without
    one."""
    found = re.search(r"\d+(\.\d+)*", name)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
