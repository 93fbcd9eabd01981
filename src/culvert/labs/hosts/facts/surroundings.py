"""What else goes on in a host: load, temperatures and stolen CPU time, by one command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from culvert.labs.hosts.host import SshHost

_ZONES = "/sys/class/thermal/thermal_zone"
_SCRIPT = f"""\
cat /proc/loadavg
grep '^cpu ' /proc/stat
for zone in {_ZONES}*; do
  [ -r "$zone/temp" ] && echo "zone ${{zone#{_ZONES}}} $(cat "$zone/temp" 2>/dev/null)"
done
true
"""
_COUNT = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]{1,20}\.[0-9]{1,20}")
_STEAL = 7
"""Of the columns of /proc/stat (proc(5)); those after it are parts of others."""


@dataclass(frozen=True)
class Surroundings:
    """``load`` is the average number of runnable threads in the last minute, ``temperatures_c`` is
    by the number of the kernel's thermal zone; ``ticks`` of all CPUs since the host's start, those
    among them ``stolen`` by its hypervisor."""

    load: float | None
    temperatures_c: Mapping[str, float]
    ticks: int
    stolen: int

    @classmethod
    def of(cls, host: SshHost) -> Surroundings:
        """Raises LabError, HostLost."""
        return cls.parse(host.run(["sh", "-c", _SCRIPT], check=False).stdout)

    @classmethod
    def parse(cls, printed: str) -> Surroundings:
        """From what the command prints; what is missing or no number is left out."""
        load, ticks, temperatures = None, [0], {}
        for words in map(str.split, printed.splitlines()):
            match words:
                case ["cpu", *counts] if all(map(_COUNT.fullmatch, counts)):
                    ticks = [int(count) for count in counts[: _STEAL + 1]]
                case ["zone", number, reading] if _COUNT.fullmatch(reading.removeprefix("-")):
                    temperatures[number] = int(reading) / 1000
                case [first, _, _, threads, _] if "/" in threads and _NUMBER.fullmatch(first):
                    load = float(first)
        stolen = ticks[_STEAL] if len(ticks) > _STEAL else 0
        return cls(load, temperatures, sum(ticks), stolen)

    def facts(self, before: Surroundings | None = None) -> dict[str, object]:
        """In JSON's types; with the share of CPU time stolen since ``before``."""
        found: dict[str, object] = {"load": self.load}
        if self.temperatures_c:
            found["temperatures_c"] = dict(self.temperatures_c)
        if before is not None and self.ticks > before.ticks:
            share = (self.stolen - before.stolen) / (self.ticks - before.ticks)
            found["stolen_percent"] = 100 * share
        return found
