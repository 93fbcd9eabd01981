"""Payloads are checked where they arrive: a tunnel must not change them."""

from __future__ import annotations

from culvert.trial.check import Check


def intact(corrupt: int) -> Check:
    """``corrupt`` payloads differed from what was sent."""
    return Check(
        "payload is intact",
        corrupt == 0,
        f"{corrupt} payloads differed from what was sent",
        "the tunnel changes data: report it to the VPN's developers",
    )
