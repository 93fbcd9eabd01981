"""What the agent answers, as types. An answer that does not fit is a ProbeError.

Units are in the names; docs/probe-protocol.md is the reference.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from culvert.errors import ProbeError

R = TypeVar("R", bound="Result")


class Result(BaseModel):
    """Base: unknown fields are left alone, so that a newer probe can say more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def parse(kind: type[R], answer: dict[str, Any]) -> R:
    """Check an answer against its type."""
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProbeError(
            f"probe answer {kind.__name__}.{place}",
            first["msg"],
            "probe and culvert are of different versions: run 'make setup' again",
        ) from None


class Count(Result):
    """Packets and IP bytes."""

    packets: int = 0
    bytes: int = 0


class TwoWay(Result):
    """Counts by direction, as seen from the node."""

    out: Count = Count()
    arriving: Count = Field(Count(), alias="in")

    def total(self) -> int:
        """Packets of both directions."""
        return self.out.packets + self.arriving.packets


class Others(Count):
    """Packets that do not belong to the tunnel, and a few of them in words."""

    examples: list[str] = []


class Randomness(Result):
    """Of payload bytes beyond the first 64: 8.0 bits per byte is indistinguishable from random."""

    bytes: int
    bits_per_byte: float


class RecordedPacket(Result):
    """One packet; ``realtime_ns`` is the kernel's receive timestamp (CLOCK_REALTIME)."""

    realtime_ns: int | None
    outgoing: bool
    protocol: int
    source_port: int = 0
    destination_port: int = 0
    length: int
    payload: str = ""


class Captured(Result):
    """Result of a ``capture`` task."""

    packets: int
    bytes: int
    matching: TwoWay
    other: Others
    fragments: int = 0
    gso_packets: int = 0
    """Packets longer than the device's MTU: no packet on a wire is."""
    canary_hits: int = 0
    canary_example: str | None = None
    randomness: Randomness | None = None
    kernel_drops: int = 0
    recorded: list[RecordedPacket] = []


class CpuTimes(Result):
    """Seconds that one CPU spent, from /proc/stat."""

    cpu: int
    user_s: float
    nice_s: float = 0.0
    system_s: float
    irq_s: float = 0.0
    softirq_s: float = 0.0
    steal_s: float = 0.0
    idle_s: float = 0.0


class ThreadUse(Result):
    """One thread's share; ``run_ns`` is time on a CPU from schedstat."""

    tid: int
    name: str
    run_ns: int
    user_s: float = 0.0
    system_s: float = 0.0
    voluntary: int = 0
    involuntary: int = 0


class ProcessUse(Result):
    """One process's share, its threads named; ``vm_hwm_bytes`` is its peak memory."""

    label: str
    pid: int
    run_ns: int | None = None
    """This and the following are None for a process that has died."""
    user_s: float | None = None
    system_s: float | None = None
    voluntary: int | None = None
    involuntary: int | None = None
    vm_hwm_bytes: int | None = None
    died: bool = False
    threads: list[ThreadUse] = []


class KernelThreadUse(Result):
    """A kernel thread's share."""

    comm: str
    pid: int
    run_ns: int | None = None


class OwnUse(Result):
    """The probe's own share."""

    run_ns: int
    user_s: float = 0.0
    system_s: float = 0.0


class QueueUse(Result):
    """What a qdisc dropped."""

    kind: str
    root: bool
    drops: int


class DeviceUse(Result):
    """What a device counted (Ethernet bytes where it is an Ethernet device)."""

    name: str
    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    rx_dropped: int = 0
    tx_dropped: int = 0
    rx_errors: int = 0
    tx_errors: int = 0
    qdiscs: list[QueueUse] = []

    @property
    def qdisc_drops(self) -> int:
        """Packets that the root qdisc dropped, its children's included."""
        return sum(queue.drops for queue in self.qdiscs if queue.root)


class UdpUse(Result):
    """The namespace's UDP counters (/proc/net/snmp)."""

    in_errors: int = 0
    rcvbuf_errors: int = 0
    sndbuf_errors: int = 0


class Accounted(Result):
    """Result of an ``accounting`` task: differences between its start and its end."""

    seconds: float
    cpus: list[CpuTimes]
    processes: list[ProcessUse] = []
    kernel_threads: list[KernelThreadUse] = []
    probe: OwnUse | None = None
    devices: list[DeviceUse] = []
    udp: UdpUse = UdpUse()
    context_switches_total: int = 0

    def device(self, name: str) -> DeviceUse | None:
        """The device of that name, if it was watched."""
        return next((device for device in self.devices if device.name == name), None)


class TcpInfo(Result):
    """The kernel's tcp_info at the end (linux/tcp.h)."""

    segs_out: int = 0
    segs_in: int = 0
    data_segs_out: int = 0
    bytes_sent: int = 0
    bytes_acked: int = 0
    bytes_retrans: int = 0
    bytes_received: int = 0
    snd_mss: int = 0
    """Largest payload of a segment, options deducted."""
    advmss: int = 0
    """What this end announced in its SYN."""
    pmtu: int = 0


class TcpSourceInterval(Result):
    """TCP_INFO of the sender at one moment; ``retransmits`` since the interval before."""

    t_ns: int
    bytes_acked: int
    retransmits: int
    cwnd: int
    rtt_us: int


class TcpSource(Result):
    """Result of ``tcp_source``."""

    bytes_written: int
    seconds: float
    congestion_control: str
    mss: int
    retransmits: int
    data_segs_out: int
    intervals: list[TcpSourceInterval] = []
    final_tcp_info: TcpInfo
    """After all that was written had been acknowledged, or could not be."""


class BytesInterval(Result):
    """Bytes that arrived in the interval ending at ``t_ns``."""

    t_ns: int
    bytes: int
    packets: int = 0


class TcpSunk(Result):
    """Result of ``tcp_sink``."""

    bytes: int
    first_ns: int | None = None
    last_ns: int | None = None
    corrupt_samples: int = 0
    intervals: list[BytesInterval] = []
    tcp_info: TcpInfo | None = None


class UdpSource(Result):
    """Result of ``udp_source``; bytes are UDP payload."""

    packets: int
    bytes: int
    seconds: float
    scheduled: int | None = None
    """Packets that the schedule held; more than ``offered`` if the generator was too slow."""
    send_errors: dict[str, int] = {}
    """Packets that the kernel did not take, by the name of its error."""
    segmentation: Literal["none", "kernel"] = "none"
    """Who made the packets: the source, or the kernel out of larger messages (UDP_SEGMENT)."""

    @property
    def offered(self) -> int:
        """Packets offered to the path: those that a full queue refused (ENOBUFS) among them."""
        return self.packets + self.send_errors.get("ENOBUFS", 0)


class OneWayDelay(Result):
    """From the sender's call to the kernel's timestamp of the arrival, on one clock."""

    min_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


class LossRuns(Result):
    """Packets lost in a row."""

    runs: int = 0
    longest: int = 0


class DelayVariation(Result):
    """Delay above the least one (RFC 5481, PDV)."""

    p50_ns: int
    p99_ns: int


class UdpSunk(Result):
    """Result of ``udp_sink``; bytes are UDP payload."""

    packets: int
    bytes: int
    first_ns: int | None = None
    last_ns: int | None = None
    duplicates: int = 0
    reordered: int = 0
    corrupt: int = 0
    strangers: int = 0
    socket_drops: int | None = None
    """None where the kernel does not tell."""
    one_way: OneWayDelay | None = None
    pdv: DelayVariation | None = None
    jitter_ns: float | None = None
    """RFC 3550, as after the last packet."""
    loss_runs: LossRuns = LossRuns()
    intervals: list[BytesInterval] = []


class RttResult(Result):
    """Result of ``rtt``; times in ns, ``histogram`` HDR V2 in base64."""

    sent: int
    received: int
    lost: int
    duplicates: int = 0
    late: int = 0
    corrupt: int = 0
    histogram: str | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    p99_99_ns: int | None = None
    p50_actual_ns: int | None = None
    """From when the probe was sent, not from when it was due: what ping tells."""
    schedule_error_p99_ns: int | None = None
    timestamps: str = "user"


class EchoOnce(Result):
    """Result of ``echo_once``."""

    answered: bool
    rtt_ns: int | None = None
    error: str | None = None
    """Name of the last error, such as EMSGSIZE."""
    pmtu: int | None = None
    """The kernel's path MTU after the attempts, bytes of the IP packet."""


class EchoResult(Result):
    """Result of ``echo``: requests that it answered."""

    packets: int
    bytes: int = 0


class FirstAnswer(Result):
    """Result of ``first_answer``; CLOCK_MONOTONIC."""

    first_sent_ns: int
    answered_ns: int
    attempts: int
