"""``python -m bench.kept_tunnel VPN``: a tunnel that is kept, and measured at each line of standard
input (``tcp`` or ``rtt``); the figure is a line of standard output."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.run.trials.paths import open_session
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns import registry
from culvert.vpns.lifecycle import bring_up

METRICS = {"rtt": "rtt_p50_us", "tcp": "goodput_bps"}
"""In this order: a host may take processors back after a flood."""
TCP = {"duration": "400ms", "warmup": "200ms"}
CPUS = {"a": (0,), "b": (1,)}
RTT = {"rate": "1000/s", "probes": 300}


class KeptTunnel:
    """The other end of such a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure(self, what: str) -> float:
        """One figure of METRICS. Raises ValueError where there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


@contextmanager
def kept(vpn: str, before: Sequence[str] = ()) -> Iterator[KeptTunnel]:
    """Such a process; ``before`` stands before it on the command line."""
    argv = [*before, sys.executable, "-m", "bench.kept_tunnel", vpn]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        yield KeptTunnel(process)
        process.communicate()  # it ends with its standard input


@contextmanager
def tunnel(word: str, spec: LabSpec) -> Iterator[Session]:
    """A tunnel that is up on a lab of its own."""
    vpn = registry.create(registry.parse(word))
    with ExitStack() as stack:
        lab = stack.enter_context(NetnsLab(new_run_id(), spec))
        stack.callback(vpn.stop, lab)
        vpn.prepare(lab)
        bring_up(vpn)
        yield open_session(stack, lab, vpn, lab.path)


def main(word: str) -> None:
    """Serve until standard input ends."""
    with tunnel(word, LabSpec(cpus=CPUS)) as session:
        for line in sys.stdin:
            print(_figure(session, line.strip()), flush=True)


def _figure(session: Session, what: str) -> float:
    outcome: Outcome
    if what == "tcp":
        outcome = Tcp().run(session, TcpParameters.model_validate(TCP))
    else:
        outcome = Rtt().run(session, RttParameters.model_validate(RTT))
    return next(metric.value for metric in outcome.metrics if metric.name == METRICS[what])


if __name__ == "__main__":
    main(sys.argv[1])
