"""The emulated link: a running ``culvert-wire`` with a TAP device in each of two namespaces.

The program ends with its standard input, so it never outlives us; its devices end with it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

from culvert import tools
from culvert.errors import DeadlineExceeded, LabError, NotPossible, UsageError
from culvert.labs import veth
from culvert.labs.base import LinkSpec
from culvert.labs.impairment import OneWay
from culvert.labs.launch import Started
from culvert.labs.links import index_of
from culvert.labs.places import RUN_VARIABLE, run_directory
from culvert.labs.process import LocalProcess
from culvert.waiting import wait_until

RATES_BPS = range(1_000, 10**12 + 1)
LONGEST_MTU = 65_521
START_DEADLINE_S = 5.0
ANSWER_DEADLINE_S = 5.0
STATISTICS_INTERVAL_MS = 2**40
"""Never by itself: a pipe that nobody reads is finite, so statistics are asked for."""
IFF_LOWER_UP = 0x10000
_ERRORS = {1: LabError, 2: UsageError, 3: NotPossible}

Direction = Literal["a_to_b", "b_to_a", "both"]


@dataclass(frozen=True)
class Counts:
    """What passed in one direction and what did not, in packets of the wire since the start.

    ``ring_full_packets`` and ``overrun_packets`` say that the link was not what was asked for.
    """

    received_packets: int
    received_bytes: int
    delivered_packets: int
    delivered_bytes: int
    lost_packets: int
    queue_full_packets: int
    codel_packets: int
    blackout_packets: int
    filtered_packets: int
    duplicated_packets: int
    corrupted_packets: int
    overtaken_packets: int
    overrun_packets: int
    too_long_packets: int
    malformed_packets: int
    refused_packets: int
    in_flight_packets: int
    ring_full_packets: int


@dataclass(frozen=True)
class Statistics:
    """Counts by direction; ``elapsed_ns`` since the wire was ready."""

    elapsed_ns: int
    a_to_b: Counts
    b_to_a: Counts

    def faults(self) -> list[str]:
        """What no condition asks for: packets that the wire could not hold or not understand."""
        return [
            f"{count} packets {what}, {direction}"
            for direction, counts in (("a to b", self.a_to_b), ("b to a", self.b_to_a))
            for count, what in (
                (counts.overrun_packets, "found no room in the wire's memory"),
                (counts.malformed_packets, "were not understood by the wire"),
            )
            if count
        ]


class Wire:
    """One cable, from ``left`` (its end a) to ``right`` (its end b)."""

    def __init__(self, run_id: str, left: veth.End, right: veth.End, spec: LinkSpec) -> None:
        self._run_id = run_id
        self._left, self._right = left, right
        self._spec = spec
        self._process: LocalProcess | None = None
        self._unread = b""

    def open(self) -> None:
        """Start it; afterwards both ends pass packets. Raises LabError or NotPossible."""
        program = tools.require("culvert-wire", "run `make setup`")
        log = run_directory(self._run_id) / f"wire-{self._left.namespace.path.name}.log"
        with log.open("wb") as sink:
            popen = subprocess.Popen(
                self._command(program),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env={"PATH": tools.search_path(), RUN_VARIABLE: self._run_id},
                cwd="/",
                start_new_session=True,
            )
        started = Started(popen, time.monotonic_ns())
        self._process = LocalProcess("culvert-wire", started, log)
        self._answer("ready", START_DEADLINE_S)
        for end in (self._left, self._right):
            _set_mac(end)
        veth.configure(self._left, self._right, self._spec)
        for end in (self._left, self._right):
            wait_until(
                partial(_has_carrier, end),
                what=f"the carrier of {end.device} on a wire",
                deadline_s=START_DEADLINE_S,
            )

    def close(self) -> None:
        """End it, and with it both devices. Idempotent."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def change(self, one_way: OneWay, direction: Direction = "both") -> None:
        """New conditions from now on. Raises UsageError for what no link can do."""
        one_way.check()
        conditions = one_way.conditions(self._spec.rate_bps)
        self._say({"command": "set", "direction": direction, "conditions": conditions})
        self._answer("done", ANSWER_DEADLINE_S)

    def statistics(self) -> Statistics:
        """What has passed until now."""
        self._say({"command": "statistics"})
        said = self._answer("statistics", ANSWER_DEADLINE_S)
        return Statistics(said["elapsed_ns"], _counts(said["a_to_b"]), _counts(said["b_to_a"]))

    def record(self, *, ring_bytes: int = 64 << 20, packet_bytes: int = 65_535) -> None:
        """Keep what arrives from now on, the newest ``ring_bytes`` of each direction."""
        self._say({"command": "record", "ring_bytes": ring_bytes, "packet_bytes": packet_bytes})
        self._answer("done", ANSWER_DEADLINE_S)

    def stop_recording(self) -> None:
        """Record no more; what was recorded can still be saved."""
        self._say({"command": "stop_recording"})
        self._answer("done", ANSWER_DEADLINE_S)

    def save(self, path: Path) -> int:
        """Save the recording as pcapng (mode 0600, nanoseconds, an interface for each direction);
        return how many packets it holds. Raises LabError."""
        self._say({"command": "save", "path": str(path.resolve())})
        return int(self._answer("done", ANSWER_DEADLINE_S * 4)["packets"])

    def _command(self, program: Path) -> list[str]:
        spec = self._spec
        words = [str(program), "cable"]
        for name, end in (("a", self._left), ("b", self._right)):
            words.append(f"--{name}={end.namespace.path}:{end.device}")
        for name, one_way in (
            ("a-to-b", spec.impairment.a_to_b),
            ("b-to-a", spec.impairment.b_to_a),
        ):
            words.append(f"--{name}={json.dumps(one_way.conditions(spec.rate_bps))}")
        words += [f"--mtu={spec.mtu}", f"--seed={spec.seed}"]
        words.append(f"--interval-ms={STATISTICS_INTERVAL_MS}")
        return [*words, "--offloads"] if spec.offloads else words

    def _running(self) -> LocalProcess:
        if self._process is None:
            raise LabError("the wire", "is not open", "open the lab first")
        return self._process

    def _say(self, command: dict[str, Any]) -> None:
        process = self._running()
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise self._died() from error

    def _answer(self, event: str, deadline_s: float) -> dict[str, Any]:
        """The next line of that kind; raises what a refusal says, or that the wire has died."""
        end = time.monotonic() + deadline_s
        while True:
            said: dict[str, Any] = json.loads(self._line(end, deadline_s))
            if said["event"] == "refused":
                raise LabError(f"the wire: {said['what']}", said["why"], said["remedy"])
            if said["event"] == "end":
                raise self._died()
            if said["event"] == event:
                return said

    def _line(self, end: float, deadline_s: float) -> bytes:
        descriptor = self._running().stdout.fileno()
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while b"\n" not in self._unread:
            left_ms = (end - time.monotonic()) * 1000
            if left_ms <= 0 or not poller.poll(left_ms):
                raise DeadlineExceeded(
                    "the wire",
                    f"did not answer within {deadline_s:g} s",
                    "see whether the machine is overloaded",
                )
            piece = os.read(descriptor, 65536)
            if not piece:
                raise self._died()
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _died(self) -> Exception:
        """What its last words were."""
        process = self._running()
        code = process.wait(deadline_s=ANSWER_DEADLINE_S)
        words = process.log_text().strip().splitlines()
        said = words[-1].removeprefix("culvert-wire cable: ") if words else "said nothing"
        why, _, remedy = said.rpartition("; ")
        kind = _ERRORS.get(code or 0, LabError)
        return kind("the wire", why or said, remedy if why else "see its log; run `culvert doctor`")


def _has_carrier(end: veth.End) -> bool:
    """A TAP device that is up with its carrier passes packets: the carrier was there before it was
    brought up, so there is nothing that the kernel deals with later, and its operational state
    stays UNKNOWN."""

    def read(netlink: Any) -> bool:
        (link,) = netlink.link("get", ifname=end.device)
        return bool(link["flags"] & IFF_LOWER_UP)

    return end.namespace.netlink(read, f"interface {end.device}")


def _set_mac(end: veth.End) -> None:
    end.namespace.netlink(
        lambda netlink: netlink.link("set", index=index_of(netlink, end.device), address=end.mac),
        f"address of {end.device}",
    )


def _counts(said: dict[str, int]) -> Counts:
    return Counts(**{field.name: said[field.name] for field in fields(Counts)})
