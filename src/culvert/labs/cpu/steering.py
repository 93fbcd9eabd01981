"""Packet steering on a device: the CPUs that process the packets of its queues.

https://docs.kernel.org/networking/scaling.html. The files belong to the device's namespace, so a
program on the node writes them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from textwrap import wrap

from culvert.errors import LabError, NotPossible
from culvert.labs.guest import guest
from culvert.labs.node import Node
from culvert.privilege import is_root
from culvert.topology.spec import Steering

FLOWS = 4096
"""Flows that receive flow steering remembers for each queue."""
_ENTRIES = Path("/proc/sys/net/core/rps_sock_flow_entries")
_ENTRIES_WANTED = 32768

_READ = """
cd /sys/class/net/"$0"/queues || exit 1
for file in rx-*/rps_cpus rx-*/rps_flow_cnt tx-*/xps_cpus; do
    if value=$(cat "$file" 2>/dev/null); then echo "$file $value"; fi
done
"""
_WRITE = 'cd /sys/class/net/"$0"/queues && for f in $1; do echo "$2" > "$f" || exit 1; done'


def apply(node: Node, device: str, requested: Steering, cpus: Collection[int]) -> None:
    """Switch the requested steering on (over ``cpus``) or off, and verify it.

    Raises NotPossible if the device or kernel does not support it, LabError if it did not change.
    """
    if requested.rfs:
        _want_flow_table()
    there = read(node, device)
    wanted: dict[str, str] = {}
    for on, kind, value in (
        (requested.rps, "rps_cpus", mask(cpus)),
        (requested.rfs, "rps_flow_cnt", str(FLOWS)),
        (requested.xps, "xps_cpus", mask(cpus)),
    ):
        if on is None:
            continue
        files = [file for file in there if file.endswith(kind)]
        if not files:
            raise NotPossible(
                f"{kind.partition('_')[0].upper()} on {device}",
                "the device has a single queue, or the kernel does not support it",
                "use a device with several queues (a link of the kind veth has them), and a kernel "
                "with CONFIG_RPS and CONFIG_XPS",
            )
        wanted |= dict.fromkeys(files, value if on else "0")
    for file, value in wanted.items():
        _write(node, device, file, value)
    found = read(node, device)
    for file, value in wanted.items():
        if _number(found.get(file, "")) != _number(value):
            raise LabError(
                f"{file} of {device}", f"is {found.get(file)}, not {value}", "report this"
            )


def read(node: Node, device: str) -> Mapping[str, str]:
    """The content of the files of its queues, for those that exist."""
    lines = node.run(["sh", "-c", _READ, device]).stdout.splitlines()
    return {file: value for file, _, value in (line.partition(" ") for line in lines)}


def mask(cpus: Collection[int]) -> str:
    """A bit for each CPU in the kernel's notation: hexadecimal, in words of 32 bits."""
    digits = f"{sum(1 << cpu for cpu in set(cpus)):x}"
    return ",".join(wrap(digits.zfill(-(-len(digits) // 8) * 8), 8))


def _write(node: Node, device: str, file: str, value: str) -> None:
    try:
        node.run(["sh", "-c", _WRITE, device, file, value])
    except LabError as error:
        if is_root():
            raise
        raise NotPossible(
            f"packet steering on {device}",
            f"only the machine's root may write {file} (net/core/net-sysfs.c)",
            "run this condition with sudo",
        ) from error


def _number(text: str) -> int:
    """CPU masks are hexadecimal, other values decimal; as hexadecimal both compare correctly."""
    try:
        return int(text.replace(",", ""), 16)
    except ValueError:
        return -1


def _want_flow_table() -> None:
    """Require the table for receive flow steering, which all namespaces of the machine share."""
    try:
        if int(_ENTRIES.read_text()) > 0:
            return
        if guest() is not None:  # the machine is Culvert's own guest
            _ENTRIES.write_text(str(_ENTRIES_WANTED))
            return
    except (OSError, ValueError) as error:
        raise NotPossible(
            "RFS", f"this kernel has no {_ENTRIES.name}", "use a kernel with CONFIG_RPS"
        ) from error
    raise NotPossible(
        "RFS",
        "the machine's table of flows is empty, and a lab may not change it",
        f"sysctl -w net.core.rps_sock_flow_entries={_ENTRIES_WANTED}",
    )
