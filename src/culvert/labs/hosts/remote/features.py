"""Features of a host's kernel, tried there with its own programs.

Doctor's trials run in this process, so they cannot run on a host. What concerns the network is
tried in a network namespace that nobody else uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from culvert.errors import UsageError
from culvert.labs.host import Host

_DEVICE = "culvert0"
_KINDS = {
    "wireguard": ("wireguard",),
    "ovpn": ("ovpn", "ovpn-dco-v2", "ovpn-dco"),
    "vxlan": ("vxlan", "id", "1", "dstport", "4789"),
    "xfrm-interface": ("xfrm", "dev", "lo", "if_id", "1"),
}
_AEAD = "0x" + "11" * 20
_LONG = "0x" + "11" * 36
_SHA256 = ("auth-trunc", "hmac(sha256)", "0x" + "22" * 32, "128")
_SUITES = {
    "AES-128-GCM": ("aead", "rfc4106(gcm(aes))", _AEAD, "128"),
    "AES-256-GCM": ("aead", "rfc4106(gcm(aes))", _LONG, "128"),
    "ChaCha20-Poly1305": ("aead", "rfc7539esp(chacha20,poly1305)", _LONG, "128"),
    "AES-128-CBC with SHA-256": (*_SHA256, "enc", "cbc(aes)", "0x" + "11" * 16),
    "AES-256-CBC with SHA-256": (*_SHA256, "enc", "cbc(aes)", "0x" + "11" * 32),
    "no cipher with SHA-256": (*_SHA256, "enc", "ecb(cipher_null)", ""),
}


def has(host: Host, feature: str) -> bool:
    """Whether the host has it. Raises UsageError for a feature that cannot be tried there."""
    family, colon, which = feature.partition(":")
    if colon:
        trial = {"kind": _new_link, "esp": _suite}.get(family)
        if trial is not None:
            return trial(host, which)
    if feature in _KINDS:
        return _kind(host, feature)
    if feature not in _TRIALS:
        raise UsageError(f"feature '{feature}'", "cannot be tried on a host", "leave it out")
    return _TRIALS[feature](host)


def _new_link(host: Host, kind: str) -> bool:
    return _inside(host, "ip", "link", "add", _DEVICE, "type", kind)


def _opens(host: Host, path: str) -> bool:
    shell = ["sh", "-c", 'exec 3<>"$0"', path]
    return host.exists(path) and host.run(shell, check=False).returncode == 0


def _kind(host: Host, feature: str) -> bool:
    words = _KINDS[feature]
    if feature == "ovpn":
        return any(_new_link(host, kind) for kind in words)
    return _inside(host, "ip", "link", "add", _DEVICE, "type", *words)


def _suite(host: Host, name: str) -> bool:
    return _state(host, "esp", _SUITES[name])


def _state(host: Host, protocol: str, algorithms: tuple[str, ...]) -> bool:
    ends = ("src", "198.18.0.1", "dst", "198.18.0.2", "proto", protocol, "spi", "0x100")
    return _inside(host, "ip", "xfrm", "state", "add", *ends, "mode", "tunnel", *algorithms)


def _inside(host: Host, *argv: str) -> bool:
    """Whether a command succeeds in a network namespace of its own."""
    program = host.find(argv[0])
    probe = host.find("culvert-probe")
    if program is None or probe is None:
        return False
    words = [probe, "exec", "--own-network", "--", program, *argv[1:]]
    return host.run(words, check=False).returncode == 0


_TRIALS: Mapping[str, Callable[[Host], bool]] = {
    "tun": lambda host: _opens(host, "/dev/net/tun"),
    "netem": lambda host: _inside(
        host, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"
    ),
    "aes-instructions": lambda host: " aes" in host.text("/proc/cpuinfo"),
    "xfrm": lambda host: _inside(host, "ip", "xfrm", "state", "list"),
    "esp": lambda host: any(_suite(host, suite) for suite in _SUITES),
    "ah": lambda host: _state(host, "ah", _SHA256),
}
_MODULES = {
    "tun": "tun",
    "netem": "sch_netem",
    "xfrm": "xfrm_user",
    "esp": "esp4",
    "ah": "ah4",
    "wireguard": "wireguard",
    "ovpn": "ovpn",
    "vxlan": "vxlan",
    "xfrm-interface": "xfrm_interface",
}
TRIED = (*_TRIALS, *_KINDS)
"""The features that can be tried, without those with a parameter."""


def to_load(features: Iterable[str]) -> str:
    """How a host gets features that it lacks, as far as they are modules."""
    modules = [_MODULES[feature] for feature in features if feature in _MODULES]
    if not modules:
        return "use a host with a processor that has them"
    return f"modprobe -a {' '.join(modules)} on the host, or boot a kernel that has them"
