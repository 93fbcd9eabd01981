"""Features of a kernel that programs try in a network namespace that nobody else uses: here, and in
the same words on hosts."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence

from culvert import tools
from culvert.machine.check import (
    FeatureFinding,
    Trial,
    degraded,
    missing,
    present,
    refused,
    unknown,
)
from culvert.machine.remedies import install

Command = tuple[str, ...]

DEADLINE_S = 10.0


def new_link(kind: str, *words: str) -> Command:
    """Creates an interface."""
    return ("ip", "link", "add", "cvscratch0", "type", kind, *words)


def _qdisc(kind: str, *words: str) -> Command:
    return ("tc", "qdisc", "add", "dev", "lo", "root", kind, *words)


def _chain(hook: str, kind: str) -> Command:
    chain = f"{{ type {kind} hook {hook} priority 0; }}"
    return ("nft", f"add table ip scratch; add chain ip scratch scratch {chain}")


def _state(protocol: str, *algorithms: str) -> Command:
    ends = ("src", "198.18.0.1", "dst", "198.18.0.2", "proto", protocol, "spi", "0x100")
    return ("ip", "xfrm", "state", "add", *ends, "mode", "tunnel", *algorithms)


def _key(length_bytes: int) -> str:
    return "0x" + "11" * length_bytes


# Key lengths include the 4 bytes of salt (RFC 4106, section 8.1; RFC 7634, section 2).
_GCM = ("aead", "rfc4106(gcm(aes))")
_CHACHA20 = ("aead", "rfc7539esp(chacha20,poly1305)")
_SHA256 = ("auth-trunc", "hmac(sha256)", _key(32), "128")
ESP_SUITES: Mapping[str, Command] = {
    "AES-128-GCM": _state("esp", *_GCM, _key(16 + 4), "128"),
    "AES-256-GCM": _state("esp", *_GCM, _key(32 + 4), "128"),
    "ChaCha20-Poly1305": _state("esp", *_CHACHA20, _key(32 + 4), "128"),
    "AES-128-CBC with SHA-256": _state("esp", *_SHA256, "enc", "cbc(aes)", _key(16)),
    "AES-256-CBC with SHA-256": _state("esp", *_SHA256, "enc", "cbc(aes)", _key(32)),
    "no cipher with SHA-256": _state("esp", *_SHA256, "enc", "ecb(cipher_null)", ""),
}
COMMANDS: Mapping[str, Mapping[str, Command]] = {
    "wireguard": {"wireguard": new_link("wireguard")},
    "ovpn": {kind: new_link(kind) for kind in ("ovpn", "ovpn-dco-v2", "ovpn-dco")},
    "vxlan": {"vxlan": new_link("vxlan", "id", "1", "dstport", "4789")},
    "gre": {"gre": new_link("gre", "local", "198.18.0.1", "remote", "198.18.0.2")},
    "xfrm-interface": {"xfrm": new_link("xfrm", "dev", "lo", "if_id", "1")},
    "xfrm": {"a list of security associations": ("ip", "xfrm", "state", "list")},
    "esp": ESP_SUITES,
    "ah": {"HMAC-SHA-256": _state("ah", *_SHA256)},
    "nftables": {"a filter chain": _chain("forward", "filter")},
    "nat": {"a chain that translates": _chain("postrouting", "nat")},
    "veth": {"veth": new_link("veth", "peer", "cvscratch1")},
    "tbf": {"tbf": _qdisc("tbf", "rate", "1mbit", "burst", "3000", "latency", "10ms")},
    "netem": {"netem": _qdisc("netem", "delay", "10ms")},
    "fq": {"fq": _qdisc("fq")},
    "fq_codel": {"fq_codel": _qdisc("fq_codel")},
}
"""A feature is there if one of its commands succeeds; what each of them tries, in words."""
FAMILIES: Mapping[str, Callable[[str], Command]] = {
    "kind": new_link,
    "esp": ESP_SUITES.__getitem__,
}
"""Features with a parameter: ``kind:ovpn``, an interface's kind; ``esp:AES-128-GCM``, a suite."""


def commands_of(feature: str) -> Mapping[str, Command]:
    """The commands of which one must succeed; none for a feature that is tried otherwise."""
    family, colon, which = feature.partition(":")
    if colon and family in FAMILIES:
        return {which: FAMILIES[family](which)}
    return COMMANDS.get(feature, {})


def trial(feature: str) -> Trial:
    """The trial on this machine, in a scratch namespace; degraded if a suite of ESP is missing."""

    def tried() -> FeatureFinding:
        succeeded: list[str] = []
        failed: dict[str, FeatureFinding] = {}
        for what, command in commands_of(feature).items():
            finding = _refusal(command)
            if finding is None:
                succeeded.append(what)
                if feature != "esp":
                    break
            else:
                failed[what] = finding
        if not succeeded:
            return next(iter(failed.values()))
        if feature == "esp" and failed:
            return degraded(f"without {', '.join(failed)}")
        return present(f"created: {', '.join(succeeded)}")

    return tried


def _refusal(command: Sequence[str]) -> FeatureFinding | None:
    program = tools.find(command[0])
    if program is None:
        package = "nftables" if command[0] == "nft" else "iproute2"
        return unknown(f"{command[0]} is not installed", install(package))
    done = subprocess.run(
        [program, *command[1:]], capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    text = said[0] if said else f"{command[0]} ended with {done.returncode}"
    # RTNETLINK answers: Operation not supported; or the kernel's own words
    known = (code for code in errno.errorcode if text.endswith(f": {os.strerror(code)}"))
    code = next(known, None)
    return missing(f"this kernel returned: {text}") if code is None else refused(code)
