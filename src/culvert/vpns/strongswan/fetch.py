"""Installs a strongSwan with ML-KEM (RFC 9370) beside the distribution's older one.

``python -m culvert.vpns.strongswan.fetch TOOLS``, as the Ansible role calls it.
"""

from __future__ import annotations

from pathlib import Path

from culvert.vpns.parts.newer import Newer
from culvert.vpns.strongswan.charon import NEWER

_LIBRARIES = "usr/lib/ipsec"
_PLUGINS = "plugins"
_COMPILED_IN = b"/usr/lib/ipsec/plugins\0"
"""The place of plugins, which no option changes: a path from ``_LIBRARIES`` replaces it."""
STRONGSWAN = Newer(
    "strongswan-newer",
    "strongSwan",
    (
        "charon-systemd",
        "strongswan-swanctl",
        "strongswan-libcharon",
        "libstrongswan",
        "libcharon-extra-plugins",
        "libstrongswan-standard-plugins",
        "libstrongswan-extra-plugins",
    ),
    {NEWER.daemon: "usr/sbin/charon-systemd", NEWER.console: "usr/sbin/swanctl"},
    (6, 0, 2),
    folder=_LIBRARIES,
    libraries=(_LIBRARIES,),
)


def fetch(tools: Path) -> str:
    """Install it into the tools directory; returns the version."""
    return STRONGSWAN.fetch(tools, _why_not, _move)


def _move(tree: Path) -> None:
    own = _PLUGINS.encode().ljust(len(_COMPILED_IN), b"\0")
    for file in (tree / _LIBRARIES).glob("*.so.*.*"):
        library = file.read_bytes()
        if _COMPILED_IN in library:
            file.write_bytes(library.replace(_COMPILED_IN, own))


def _why_not(tree: Path) -> str | None:
    plugin = tree / _LIBRARIES / _PLUGINS / "libstrongswan-openssl.so"
    if plugin.exists() and b"EVP_PKEY_encapsulate" in plugin.read_bytes():
        return None
    return "its OpenSSL plugin has no ML-KEM"


if __name__ == "__main__":
    STRONGSWAN.main(fetch)
