"""The programs of Nebula: what a host misses of them, and their version."""

from __future__ import annotations

from culvert.labs.host import Host
from culvert.vpns.facts import missing_tun
from culvert.vpns.nebula import certificates, console
from culvert.vpns.variant import Missing
from culvert.vpns.versions import read_go_build

PROGRAM = "nebula"


def missing(host: Host, vpn: str) -> list[Missing]:
    """The programs, an SSH client for the console, and /dev/net/tun."""
    programs = (PROGRAM, certificates.PROGRAM, console.CLIENT)
    absent = [program for program in programs if host.find(program) is None]
    return [*missing_tun(host), *(Missing.to_install(program, vpn) for program in absent)]


def version(host: Host) -> str:
    """Versions of the module and the compiler; of a package, what the program prints."""
    program = require(host)
    build = read_go_build(host, program)
    if build and build.version:
        return f"{build.version} ({build.go})"
    return host.run([program, "-version"]).stdout.strip().removeprefix("Version: ")


def require(host: Host) -> str:
    """The program's path; raises NotPossible if it is missing."""
    return host.require(PROGRAM, "culvert install nebula")
