"""The order in which the runs of kjorveziroski2024 were made.

all-merged.csv has no times, and its rows are in the order of a directory listing. The authors' JSON
files (results-json/, commit dba6d2f) have the same runs in the same order, each with its date:
sorted by them, the listing is one and the same permutation in all cells with 100 runs, another in
all with 10, and a third in one cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from culvert.journal.readers.foreign_run import ForeignRun

# fmt: off
ORDER_100 = (
    73, 2, 100, 69, 29, 30, 41, 6, 24, 67, 1, 76, 57, 33, 40, 31, 60, 39, 5, 42, 43, 48, 25, 3, 14,
    71, 75, 36, 38, 32, 74, 54, 66, 89, 7, 59, 17, 65, 53, 11, 56, 26, 99, 34, 61, 88, 58, 51, 13,
    15, 79, 50, 23, 86, 20, 90, 64, 45, 82, 72, 94, 4, 37, 81, 52, 97, 46, 84, 22, 49, 18, 63, 8,
    12, 55, 21, 83, 95, 87, 9, 85, 93, 70, 28, 92, 35, 62, 10, 98, 91, 68, 47, 96, 77, 44, 27, 78,
    80, 19, 16,
)
"""The number in time of a cell's first row, second row, ..."""
ORDER_10 = (2, 6, 1, 5, 3, 7, 4, 8, 9, 10)
ORDER_ZEROTIER_RELAY_250MS = (10, 4, 9, 3, 1, 5, 2, 6, 7, 8)
# fmt: on

IDS = {
    "12-native-mtu1450": "none/mtu-1450",
    "11-native-mtu1230": "none",
    "21-headscale-direct": "headscale/direct",
    "22-headscale-relay": "headscale/relay",
    "31-netbird-direct": "netbird/direct",
    "32-netbird-relay": "netbird/relay",
    "41-zerotier-direct": "zerotier/direct",
    "42-zerotier-relay": "zerotier/tcp-relay",
}
"""The study's VPNs by the data's names, in the paper's order. The baseline has the MTU of the
overlay over every VPN."""
CONFIGURATIONS = tuple(IDS)
_NODES = {"server-node": "l26-node03", "client-node": "l26-node02"}


def recognised(runs: Sequence[ForeignRun]) -> bool:
    """Whether these are rows of all-merged.csv: its configurations and nodes, and no times."""
    return bool(runs) and all(
        run.name in CONFIGURATIONS
        and run.started_at is None
        and _NODES.items() <= run.reported.items()
        for run in runs
    )


def number_in_time(run: ForeignRun, nth: int, of: int) -> int:
    """The number in time of a cell's nth row of so many; ``nth`` where rows are missing."""
    if of == len(ORDER_100):
        return ORDER_100[nth - 1]
    if of != len(ORDER_10):
        return nth
    if run.name == "42-zerotier-relay" and run.condition == "delay-250ms":
        return ORDER_ZEROTIER_RELAY_250MS[nth - 1]
    return ORDER_10[nth - 1]
