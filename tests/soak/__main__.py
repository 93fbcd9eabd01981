"""``python -m tests.soak SECONDS [--keep]``: trials over all ready VPNs with random faults.

Every trial ends in one of the four statuses with a reason that names its fault; nothing is left on
the machine; every trial is in the journal, though its disk is full now and then. Exit code 1 if
not. Two processes try at the same time, because a trial mostly waits. ``--keep`` writes the figure
to bench/results.json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from bench.results import keep, stamp

from culvert.labs.this_machine import ThisMachine
from culvert.vpns import registry
from culvert.vpns.listing import list_vpns
from tests.labs import host
from tests.soak.session import Soaking, soak_for

TRIALS = 500
PROCESSES = 2
MOST_SHOWN = 20


def main() -> int:
    """Soak until the time is over."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 10**9
    installed = [row.vpn for row in list_vpns(ThisMachine()) if row.ready]
    ready = [
        word for word in installed if not registry.create(registry.parse(word)).variant.of_clusters
    ]
    print(f"seed {seed}: {len(ready)} variants", flush=True)
    before, begun = host.snapshot(), time.monotonic()
    found = Soaking()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        running = [
            pool.submit(soak_for, options.seconds, ready, f"{seed}/{number}")
            for number in range(PROCESSES)
        ]
        for one in running:
            found += one.result()
    if host.snapshot() != before:
        found.complaints.append("the host's interfaces, addresses, routes or settings have changed")
    seconds = time.monotonic() - begun
    for what, count in sorted(found.counts.items()):
        print(f"{count:5} {what}")
    print(f"{found.trials} trials in {seconds:.0f} s, {len(found.complaints)} complaints")
    if options.keep:
        _keep(found, seconds, seed)
    return 1 if found.complaints else 0


def _keep(found: Soaking, seconds: float, seed: int) -> None:
    line = {
        "name": "soak",
        "what": "trials over all ready VPNs with random faults",
        "unit": "trials",
        "peer": None,
        "ours": found.trials,
        "peer_value": None,
        "ratio": None,
        "interval": None,
        "goal": f"{TRIALS} trials without a complaint",
        "met": found.trials >= TRIALS and not found.complaints,
        "samples": {
            "ours": [found.trials],
            "peer": [],
            "details": [
                {
                    "seconds": seconds,
                    "seed": seed,
                    "counts": dict(sorted(found.counts.items())),
                    "complaints": len(found.complaints),
                    "first": found.complaints[:MOST_SHOWN],
                }
            ],
        },
    }
    keep(line | stamp())


if __name__ == "__main__":
    sys.exit(main())
