"""The probe as a program: how soon it sends, how large it is."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from bench.link import fast_link
from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.client import Probe
from culvert.trial.session import Session
from culvert.vpns import registry

STATIC_TARGET = "x86_64-unknown-linux-gnu"
STATIC_FLAGS = "-C target-feature=+crt-static"


class AgentStart(MedianBelow):
    """From before the program is executed to the schedule's first packet."""

    name: ClassVar[str] = "agent-start"
    what: ClassVar[str] = "from the agent's start to its first packet"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 20 ms"
    limit: ClassVar[float] = 0.02

    def measure(self) -> Samples:
        """Fifteen times on one lab."""
        vpn = registry.create(registry.parse("none"))
        ours = []
        with fast_link() as lab, Probe(lab.b) as b:
            vpn.prepare(lab)
            for _ in range(15):
                begun_ns = time.monotonic_ns()
                with Probe(lab.a) as a:
                    session = Session(lab, vpn, lab.path, a, b)
                    to = session.inner(lab.b)
                    source = a.begin(
                        "udp_source",
                        to=to,
                        port=9,
                        payload_size=64 - UDP_HEADERS,
                        rate_pps=1000,
                        duration_s=0.01,
                        **session.marks,
                    )
                    first_ns = source.result(10)["first_ns"]
                ours.append((first_ns - begun_ns) / 1e9)
        return Samples(ours=ours)


class StaticSize(MedianBelow):
    """Built for this with glibc's static runtime; takes a minute the first time."""

    name: ClassVar[str] = "static-size"
    what: ClassVar[str] = "the probe as a static binary"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 6 MB"
    limit: ClassVar[float] = 6e6

    def measure(self) -> Samples:
        """Build it, look at it."""
        build = [
            *("cargo", "build", "--release", "--locked", "--quiet", "-p", "culvert-probe"),
            *("--target", STATIC_TARGET, "--target-dir", "target/static"),
            *("--config", f'target.{STATIC_TARGET}.rustflags="{STATIC_FLAGS}"'),
        ]
        subprocess.run(build, check=True)
        binary = Path("target/static", STATIC_TARGET, "release/culvert-probe")
        return Samples(ours=[float(binary.stat().st_size)])
