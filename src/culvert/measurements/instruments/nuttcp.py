"""nuttcp: its command lines, and the ``name=value`` pairs that it prints with ``-fparse``."""

from __future__ import annotations

import re

from culvert.measurements.instruments.base import Instrument, Load, ToolReport, bad_report, count

PORT = 5000
DATA_PORT = 5101
_MEGABYTE = 1 << 20
_PAIR = re.compile(r"(\w+)=(\S+)")


def server(load: Load) -> list[str]:
    """Arguments of the receiving end; the client sends it the parameters."""
    del load
    return ["-S", "-1", "--nofork", "-P", str(PORT)]


def client(load: Load) -> list[str]:
    """Arguments of the sending end."""
    words = ["-fparse", "-P", str(PORT), "-p", str(DATA_PORT), f"-T{load.duration_s}"]
    words.append(f"-l{load.size}")
    if load.udp:
        # In kbit/s of payload; 0 means no limit.
        rate = 0 if load.rate_bps is None else max(round(load.rate_bps / 1000), 1)
        words += ["-u", f"-R{rate}"]
    if load.streams > 1:
        words.append(f"-N{load.streams}")
    return [*words, load.to]


def parse(load: Load, printed: str) -> ToolReport:
    """From what the client printed; raises InstrumentError if it is incomplete or malformed."""
    found = dict(_PAIR.findall(printed))
    try:
        goodput_bps = 1e6 * count(found["rate_Mbps"])
        received = _MEGABYTE * count(found["megabytes"])
        if not load.udp:
            retransmits = int(count(found["retrans"])) if "retrans" in found else None
            return ToolReport(goodput_bps, received, retransmits)
        sent, lost = int(count(found["pkt"])), int(count(found["drop"]))
    except KeyError as error:
        last = printed.strip().splitlines()[-1:] or ["nothing"]
        why = f"{error} is missing in its output; it printed: {last[0][:200]}"
        raise bad_report(Instrument.NUTTCP, why) from error
    except (ValueError, OverflowError) as error:
        raise bad_report(Instrument.NUTTCP, f"it reported an invalid number: {error}") from error
    if lost > sent:
        raise bad_report(Instrument.NUTTCP, f"it lost {lost} of {sent} packets")
    return ToolReport(goodput_bps, received, sent_packets=sent, lost_packets=lost)
