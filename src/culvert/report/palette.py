"""Colours: fixed per VPN family, distinct for colour-blind readers, readable on light and dark.

Mid-tones in the spirit of Okabe and Ito, "Color Universal Design" (2008). Colour is never
the only distinction: every mark also has a label or its own shape.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

from culvert.study.vpn_id import family_of

BASELINE = "#8b929c"

FAMILIES = {
    "wireguard": "#2b7fd4",
    "openvpn": "#d9730d",
    "strongswan": "#0f9d76",
    "vxlan": "#b0488f",
    "headscale": "#7a5fd0",
    "tailscale": "#7a5fd0",
    "netbird": "#c2403a",
    "zerotier": "#a8850c",
    "nebula": "#0e95a8",
    "netmaker": "#7d8a1f",
}

SPARE = ("#7a5fd0", "#a8850c", "#0e95a8", "#c2403a", "#7d8a1f", "#b0488f")

SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")

LOSS = {
    "received": "#a9b4c2",
    "lost_in_socket": "#b8432f",
    "lost_in_qdisc": "#c9a227",
    "lost_in_interface": "#3f8f5f",
    "lost_in_tunnel": "#8e4585",
    "lost_on_link": "#2fa4c7",
    "lost_unattributed": "#6b6b6b",
}

COST = {
    "VPN processes": "#5b5fc7",
    "softirq": "#2a9d9a",
    "rest of the system": "#a9b4c2",
    "probe": "#d0a24c",
}

MODES = {
    "user": "#8f9be8",
    "system": "#b0602f",
    "softirq": "#2a9d9a",
    "hard interrupts": "#c9a227",
}
"""CPU time by mode."""


def colours(vpns: Sequence[str]) -> dict[str, str]:
    """A colour for each VPN: the family's hue; further variants of a family darker or lighter."""
    result: dict[str, str] = {}
    taken = {FAMILIES[name] for name in map(family_of, vpns) if name in FAMILIES}
    free = tuple(colour for colour in SPARE if colour not in taken) or SPARE
    spare = iter(free * (1 + len(vpns)))
    hues: dict[str, str] = {"none": BASELINE}
    seen: dict[str, int] = {}
    for vpn in sorted(vpns):
        name = family_of(vpn)
        if name not in hues:
            hues[name] = FAMILIES.get(name) or next(spare)
        result[vpn] = _shade(hues[name], seen.get(name, 0))
        seen[name] = seen.get(name, 0) + 1
    return result


def shapes(vpns: Sequence[str]) -> dict[str, str]:
    """A shape for each VPN in the order given, repeating after six."""
    return {vpn: SHAPES[index % len(SHAPES)] for index, vpn in enumerate(vpns)}


def _shade(colour: str, step: int) -> str:
    """The colour itself at step 0, then lighter, darker, lighter still, within bounds."""
    if step == 0:
        return colour
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    away = 0.13 * ((step + 1) // 2) * (1 if step % 2 else -1)
    light = min(0.74, max(0.26, light + away))
    found = colorsys.hls_to_rgb(hue, light, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in found)
