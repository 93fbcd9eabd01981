"""The installed OpenVPN programs, their versions, the kernel's module that they use, and what a
machine lacks for a choice of variant and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

from culvert.errors import CulvertError
from culvert.vpns.authoring import (
    Host,
    Missing,
    NotPossible,
    VpnError,
    missing_tun,
    package_version,
)
from culvert.vpns.openvpn import settings
from culvert.vpns.openvpn.choice import PSK, RENEG, Choice, Transport

_NAME = "openvpn"
INSTALL = f"culvert install {_NAME}"

_OWN = re.compile(r"OpenVPN ((\d+)\.(\d+)\S*)")
_OPENSSL = re.compile(r"library versions: OpenSSL (\d+)\.(\d+)")
_LIBRARY = re.compile(r"library versions: ([^,\n]+)")

BESIDE = "openvpn-dco"
"""An OpenVPN 2.7 or later, installed beside the distribution's (see ``fetch``)."""

IN_TREE, OUT_OF_TREE = "ovpn", "ovpn-dco-v2"
"""Modules for the data channel: the first came with Linux 6.16 and requires OpenVPN 2.7, the second
is for 2.6."""


def kernel_kind(host: Host) -> str | None:
    """The kind of interface that a machine's kernel supports, in tree before out of tree; None if
    neither, or if it cannot be tested."""
    return next((kind for kind in (IN_TREE, OUT_OF_TREE) if host.has(f"kind:{kind}")), None)


def supports(version: tuple[int, int], kind: str) -> bool:
    """Whether an OpenVPN of that version uses that kind."""
    return version >= (2, 7) if kind == IN_TREE else version == (2, 6)


def find(host: Host, choice: Choice) -> str | None:
    """The program, or None. In the kernel one that uses this kernel's module, or the in-tree
    module if the kernel has none; with a named group one whose library has post-quantum groups, so
    that all groups are those of one program."""
    if not choice.offloaded and not choice.groups:
        return host.find("openvpn")
    kind = kernel_kind(host) or IN_TREE
    found = [path for path in map(host.find, ("openvpn", BESIDE)) if path is not None]
    return next(
        (
            path
            for path in found
            if (not choice.offloaded or drives(host, path, kind))
            and (not choice.groups or has_groups(host, path))
        ),
        None,
    )


def require(vpn: str, host: Host, choice: Choice) -> str:
    """The program for a VPN; raises NotPossible if it is missing."""
    program = find(host, choice)
    if program is None:
        raise NotPossible(vpn, "openvpn is missing", INSTALL)
    return program


def drives(host: Host, program: str, kind: str) -> bool:
    """Whether the program is an OpenVPN that uses the kernel's module of that kind."""
    try:
        own, printed = _printed(host, program)
    except CulvertError:
        return False
    return "[DCO]" in printed and supports((int(own[2]), int(own[3])), kind)


def has_groups(host: Host, program: str) -> bool:
    """Whether its OpenSSL has post-quantum groups: from 3.5 on."""
    try:
        _, printed = _printed(host, program)
    except CulvertError:
        return False
    library = _OPENSSL.search(printed)
    return library is not None and (int(library[1]), int(library[2])) >= (3, 5)


def version(host: Host, program: str) -> str:
    """Versions of OpenVPN, of its package, and of the TLS library."""
    own, printed = _printed(host, program)
    # The distribution's package, or the folder that fetch installed it into.
    packages = (package_version(host, "openvpn") or "", _folder(host, program))
    package = next((each for each in packages if each.startswith(own[1])), "")
    library = _LIBRARY.search(printed)
    parts = (own[1], package and f"package {package}", library and library[1])
    return ", ".join(part for part in parts if part)


def numbers(host: Host, program: str) -> tuple[int, int]:
    """The first two of its version."""
    own, _ = _printed(host, program)
    return int(own[2]), int(own[3])


def _folder(host: Host, program: str) -> str:
    """The name of the folder that the program itself is in, links followed."""
    return PurePath(host.run(["readlink", "-f", program]).stdout.strip()).parent.name


@cache
def _printed(host: Host, program: str) -> tuple[re.Match[str], str]:
    """The output of ``openvpn --version``, and its parsed start; run once for each program."""
    # Older versions exit with 1.
    printed = host.run([program, "--version"], check=False).stdout
    own = _OWN.match(printed)
    if own is None:
        raise VpnError(
            program, "does not print its version as OpenVPN does", "install OpenVPN 2.6 or 2.7"
        )
    return own, printed


def missing_parts(host: Host, choice: Choice) -> Iterator[Missing]:
    """The program, /dev/net/tun or the kernel's module, and what the options need."""
    program = find(host, choice)
    yield from _kernel(host, program) if choice.offloaded else _user_space(host, choice, program)
    yield from _groups(choice)
    udp = choice.transport is Transport.UDP
    for what, option in settings.refused(choice.options, udp=udp, offloaded=choice.offloaded):
        yield Missing(what, f"drop the option {option}, or correct it")
    if choice.static_key:
        yield from _static_key(host, choice, program)


def _user_space(host: Host, choice: Choice, program: str | None) -> Iterator[Missing]:
    if program is None:
        newer = "an OpenVPN with OpenSSL 3.5 or later"
        yield Missing.to_install(newer if choice.groups else "openvpn", _NAME)
    yield from missing_tun(host)


def _groups(choice: Choice) -> Iterator[Missing]:
    if len(choice.groups) > 1:
        yield Missing("two TLS groups", "leave one of them out")
    if choice.groups and choice.static_key:
        yield Missing("a TLS group with a static key", f"drop the option {PSK}, or the group")


def _kernel(host: Host, program: str | None) -> Iterator[Missing]:
    kind = kernel_kind(host)
    if kind is None:
        remedy = (
            "modprobe ovpn (Linux 6.16 or later, CONFIG_OVPN), or openvpn-dco-dkms for "
            "OpenVPN 2.6, or use culvert run --lab vm"
        )
        yield Missing(f"kernel feature {IN_TREE}", remedy)
    if program is None and kind == OUT_OF_TREE:
        yield Missing(f"an OpenVPN 2.6, which uses {kind}", "put one on PATH")
    elif program is None:
        what = f"an OpenVPN of 2.7 or later, which uses {IN_TREE}"
        yield Missing.to_install(what, _NAME)


def _static_key(host: Host, choice: Choice, program: str | None) -> Iterator[Missing]:
    if choice.offloaded:
        yield Missing("static keys in the kernel", f"drop the option {PSK}")
        return
    if choice.cipher.aead:
        yield Missing(
            f"{choice.cipher.value} with a static key, which OpenVPN does not support",
            f"drop the option {PSK}, or use openvpn/aes-256-cbc+{PSK}",
        )
    if choice.renegotiates:
        what = "renegotiation with a static key, which OpenVPN does not support"
        yield Missing(what, f"drop the option {RENEG}, or {PSK}")
    if program is not None and numbers(host, program) >= (2, 8):
        yield Missing(
            "an OpenVPN with static keys, which 2.8 dropped",
            f"drop the option {PSK}, or install OpenVPN 2.6 or 2.7",
        )
    if host.find("ping") is None:
        yield Missing.to_install("ping", _NAME)
