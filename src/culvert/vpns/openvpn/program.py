"""What an installed OpenVPN is."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath

from culvert.errors import CulvertError, VpnError
from culvert.labs.host import Host
from culvert.vpns.openvpn import kernel as ovpn_kernel
from culvert.vpns.openvpn.config import Dialect
from culvert.vpns.packages import package_version

_OWN = re.compile(r"OpenVPN ((\d+)\.(\d+)\S*)")
_LIBRARY = re.compile(r"library versions: ([^,\n]+)")

BESIDE = "openvpn-dco"
"""An OpenVPN 2.7 or later that was put beside the distribution's (``openvpn_fetch``)."""


def find(host: Host, *, offloaded: bool) -> str | None:
    """The program; ``offloaded``: one that drives this kernel's module (where there is none, the
    one in the tree), or None."""
    if not offloaded:
        return host.find("openvpn")
    kind = ovpn_kernel.kernel_kind(host) or ovpn_kernel.IN_TREE
    found = [path for path in map(host.find, ("openvpn", BESIDE)) if path is not None]
    return next((path for path in found if drives(host, path, kind)), None)


def drives(host: Host, program: str, kind: str) -> bool:
    """Whether the program is an OpenVPN that speaks to the kernel's module of that kind."""
    try:
        own, printed = _printed(host, program)
    except CulvertError:
        return False
    return "[DCO]" in printed and ovpn_kernel.speaks((int(own[2]), int(own[3])), kind)


def version(host: Host, program: str) -> str:
    """OpenVPN's version, the package's if it is that one, and the TLS library's."""
    own, printed = _printed(host, program)
    # The distribution's, or by the folder that openvpn_fetch has put it into.
    packages = (package_version(host, "openvpn") or "", _folder(host, program))
    package = next((each for each in packages if each.startswith(own[1])), "")
    library = _LIBRARY.search(printed)
    parts = (own[1], package and f"package {package}", library and library[1])
    return ", ".join(part for part in parts if part)


def dialect(host: Host, program: str) -> Dialect:
    """What it knows, by its version."""
    own, _ = _printed(host, program)
    return Dialect((int(own[2]), int(own[3])))


def _folder(host: Host, program: str) -> str:
    """The name of the folder that the program itself is in, links followed."""
    return PurePath(host.run(["readlink", "-f", program]).stdout.strip()).parent.name


@cache
def _printed(host: Host, program: str) -> tuple[re.Match[str], str]:
    """What ``openvpn --version`` prints, its first words parsed; run once for each program."""
    # Older ones exit with 1.
    printed = host.run([program, "--version"], check=False).stdout
    own = _OWN.match(printed)
    if own is None:
        raise VpnError(
            program, "does not print its version as OpenVPN does", "install OpenVPN 2.6 or 2.7"
        )
    return own, printed
