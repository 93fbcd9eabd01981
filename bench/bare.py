"""A session on the bare link, for instruments that are compared with others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from culvert.labs.base import Lab
from culvert.probe.client import Probe
from culvert.trial.session import Session
from culvert.vpns import registry


@contextmanager
def bare_session(lab: Lab) -> Iterator[Session]:
    """Of the first path, without a VPN: new probes on both of its ends."""
    vpn = registry.create(registry.parse("none"))
    vpn.prepare(lab)
    with Probe(lab.a) as a, Probe(lab.b) as b:
        yield Session(lab, vpn, lab.path, a, b)
