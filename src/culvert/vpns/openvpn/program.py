"""What an installed OpenVPN is."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from culvert import tools
from culvert.errors import CulvertError, VpnError
from culvert.vpns.openvpn import kernel as ovpn_kernel
from culvert.vpns.openvpn.config import Dialect
from culvert.vpns.packages import package_version

_OWN = re.compile(r"OpenVPN ((\d+)\.(\d+)\S*)")
_LIBRARY = re.compile(r"library versions: ([^,\n]+)")

BESIDE = "openvpn-dco"
"""An OpenVPN 2.7 or later that was put beside the distribution's (``openvpn_fetch``)."""


def find(*, offloaded: bool) -> Path | None:
    """The program; ``offloaded``: one that drives this kernel's module (where there is none, the
    one in the tree), or None."""
    if not offloaded:
        return tools.find("openvpn")
    kind = ovpn_kernel.kernel_kind() or ovpn_kernel.IN_TREE
    found = [path for path in map(tools.find, ("openvpn", BESIDE)) if path is not None]
    return next((path for path in found if drives(path, kind)), None)


def drives(program: Path, kind: str) -> bool:
    """Whether the program is an OpenVPN that speaks to the kernel's module of that kind."""
    try:
        own, said = _told(program)
    except CulvertError:
        return False
    return "[DCO]" in said and ovpn_kernel.speaks((int(own[2]), int(own[3])), kind)


def version(program: Path) -> str:
    """OpenVPN's version, the package's if it is that one, and the TLS library's."""
    own, said = _told(program)
    # The distribution's, or by the folder that openvpn_fetch has put it into.
    packages = (package_version("openvpn") or "", program.resolve().parent.name)
    package = next((each for each in packages if each.startswith(own[1])), "")
    library = _LIBRARY.search(said)
    parts = (own[1], package and f"package {package}", library and library[1])
    return ", ".join(part for part in parts if part)


def dialect(program: Path) -> Dialect:
    """What it knows, by its version."""
    own, _ = _told(program)
    return Dialect((int(own[2]), int(own[3])))


def _told(program: Path) -> tuple[re.Match[str], str]:
    """What ``openvpn --version`` prints, its first words parsed; asked once of each file."""
    return _asked(program, program.stat().st_mtime_ns)


@cache
def _asked(program: Path, _: int) -> tuple[re.Match[str], str]:
    # Older ones exit with 1.
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    own = _OWN.match(told.stdout)
    if own is None:
        raise VpnError(
            str(program), "does not tell its version as OpenVPN does", "install OpenVPN 2.6 or 2.7"
        )
    return own, told.stdout
