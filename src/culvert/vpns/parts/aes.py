"""Whether a tunnel that is up uses AES instructions, read from its processes and the kernel.

A library built without them, a mask left in the environment, or a module that is not loaded would
otherwise show only in the figures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.cpu import aes
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.base import Vpn
from culvert.vpns.variant import DataCipher, DataPath

GUEST_REMEDY = "measure it in a guest whose kernel has none: culvert run --lab vm"
_OPENSSL = "OpenSSL"
_GO = "Go's library"
_MASKED_BY = {_OPENSSL: aes.OPENSSL, _GO: aes.GO}
_ACCELERATED = re.compile(r"aesni|vaes|aes-ce|aes.*avx")
_CPUINFO, _CRYPTO = "/proc/cpuinfo", "/proc/crypto"


@dataclass(frozen=True)
class AesUse:
    """``used`` is None if unknown; ``how`` describes it in words."""

    used: bool | None
    how: str
    remedy: str = ""
    needed: bool = True
    """False: the cipher is none or another, so that instructions change nothing."""


def aes_use(vpn: Vpn, lab: Lab) -> AesUse:
    """The use of AES instructions by a tunnel that is up."""
    cipher = vpn.variant.cipher
    if cipher is None:
        remedy = "declare the variant's cipher in the driver"
        return AesUse(None, "unknown: the driver declares no cipher", remedy)
    if cipher is not DataCipher.AES:
        return AesUse(False, f"not used: the cipher is {cipher}", needed=False)
    if vpn.data_path is DataPath.KERNEL:
        found = [kernel_use(node) for node in (lab.a, lab.b)]
    else:
        running = vpn.processes.items()
        found = [process_use(lab.nodes[name], each) for name, all_ in running for each in all_]
    if not found:
        return AesUse(None, "unknown: the VPN has no process")
    doubtful = [one for one in found if one.used is not False]
    return (doubtful or found)[0]


def require_requested_aes(requested: bool | None, use: AesUse) -> None:
    """Raise NotPossible if this VPN cannot fulfil the condition's ``aes`` here."""
    if requested is not None and use.used is not requested and use.needed:
        wanted = "true" if requested else "false"
        raise NotPossible(f"aes = {wanted}", f"AES instructions: {use.how}", use.remedy)


def kernel_use(node: Host) -> AesUse:
    """The use by a node's kernel, from the registered cipher drivers."""
    text, crypto = _text(node, _CPUINFO), _text(node, _CRYPTO)
    drivers = re.findall(r"^driver\s*:\s*(\S+)", crypto, re.MULTILINE)
    fast = [driver for driver in drivers if _ACCELERATED.search(driver)]
    if fast:
        return AesUse(True, f"used: the kernel's {fast[0]}", GUEST_REMEDY)
    if "User Mode Linux" in text or aes.lists_instructions(text) is False:
        return AesUse(False, "not used: the kernel's plain code", "modprobe aesni_intel")
    if "aes-lib" in drivers:
        return AesUse(None, "unknown: the kernel's aes-lib chooses at run time", GUEST_REMEDY)
    return AesUse(False, "not used: no module with them is loaded", "modprobe aesni_intel")


def process_use(node: Node, process: Process) -> AesUse:
    """The use by a process, from its libraries and its environment."""
    if aes.lists_instructions(_text(node, _CPUINFO)) is False:
        return AesUse(False, "not used: the processor has none")
    place, name = f"/proc/{process.pid}", process.name
    maps, environ = _text(node, f"{place}/maps"), _text(node, f"{place}/environ")
    mark = ["grep", "-qa", "Go buildinf:", f"{place}/exe"]
    is_go = "libcrypto" not in maps and node.run(mark, check=False).returncode == 0
    if "libstrongswan-aesni" in maps:
        remedy = "no variable switches it off: leave this VPN out of the condition"
        return AesUse(True, "used: strongSwan's plugin aesni", remedy)
    library = _OPENSSL if "libcrypto" in maps else _GO if is_go else None
    if library is None:
        return AesUse(
            None, f"unknown: {name} uses no library that Culvert recognises", "leave this VPN out"
        )
    variable = _MASKED_BY[library]
    if f"{variable}={aes.OFF[variable]}" in environ.split("\0"):
        return AesUse(False, f"off: {variable} is set for {library}")
    return AesUse(True, f"used: {library}", "report this: the variable is not set")


def _text(node: Host, path: str) -> str:
    try:
        return node.read(path).decode(errors="replace")
    except OSError:
        return ""
