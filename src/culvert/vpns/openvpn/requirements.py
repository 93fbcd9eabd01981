"""What a choice of OpenVPN's variant and options requires and a machine does not have."""

from __future__ import annotations

from collections.abc import Iterator

from culvert.vpns.authoring import Host, Missing, missing_tun
from culvert.vpns.openvpn import program as openvpn_program
from culvert.vpns.openvpn import settings
from culvert.vpns.openvpn.choice import PSK, RENEG, Choice
from culvert.vpns.openvpn.config import Transport

_NAME = "openvpn"
INSTALL = f"culvert install {_NAME}"


def missing_parts(host: Host, choice: Choice) -> Iterator[Missing]:
    """The program, /dev/net/tun or the kernel's module, and what the options need."""
    program = openvpn_program.find(host, offloaded=choice.offloaded)
    yield from _kernel(host, program) if choice.offloaded else _user_space(host, program)
    udp = choice.transport is Transport.UDP
    for what, option in settings.refused(choice.options, udp=udp, offloaded=choice.offloaded):
        yield Missing(what, f"drop the option {option}, or correct it")
    if choice.static_key:
        yield from _static_key(host, choice, program)


def _user_space(host: Host, program: str | None) -> Iterator[Missing]:
    if program is None:
        yield Missing.to_install("openvpn", _NAME)
    yield from missing_tun(host)


def _kernel(host: Host, program: str | None) -> Iterator[Missing]:
    kind = openvpn_program.kernel_kind(host)
    if kind is None:
        remedy = (
            "modprobe ovpn (Linux 6.16 or later, CONFIG_OVPN), or openvpn-dco-dkms for "
            "OpenVPN 2.6, or use culvert run --lab vm"
        )
        yield Missing(f"kernel feature {openvpn_program.IN_TREE}", remedy)
    if program is None and kind == openvpn_program.OUT_OF_TREE:
        yield Missing(f"an OpenVPN 2.6, which uses {kind}", "put one on PATH")
    elif program is None:
        what = f"an OpenVPN of 2.7 or later, which uses {openvpn_program.IN_TREE}"
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
    if program is not None and openvpn_program.dialect(host, program).dropped_static_keys:
        yield Missing(
            "an OpenVPN with static keys, which 2.8 dropped",
            f"drop the option {PSK}, or install OpenVPN 2.6 or 2.7",
        )
    if host.find("ping") is None:
        yield Missing.to_install("ping", _NAME)
