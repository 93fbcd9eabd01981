"""Who used the processors, and what devices and sockets counted."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from culvert.probe.results.base import Result
from culvert.probe.results.capture import TwoWay
from culvert.topology.link.spec import ETHERNET_HEADER


class Meddling(StrEnum):
    """The kinds of interference."""

    STOPPED = "stopped"
    FROZEN = "frozen"
    THROTTLED = "throttled"
    """By the quota of a control group that the probe is not in."""
    THROTTLED_TOGETHER = "throttled_together"
    """By the quota of a control group that the probe is in as well."""
    DEVICE_DOWN = "device_down"
    NO_CARRIER = "no_carrier"
    MTU = "mtu"
    SETTINGS = "settings"
    ADDRESS = "address"
    ROUTE = "route"
    QUEUE = "queue"


class ObservedProcess(Result):
    """A process, under the name of the one that it descends from."""

    label: str
    pid: int


class OfProcess(Result):
    """Something was done to a process."""

    process: ObservedProcess


class OfDevice(Result):
    """Something was done to a device."""

    device: str


class Episode(Result):
    """One interference. ``detail`` is the group, the value or the address. ``lasted_ns`` of a quota
    is the time without a processor."""

    kind: Meddling
    subject: OfProcess | OfDevice | Literal["node"]
    detail: str
    start_ns: int
    lasted_ns: int


class Interference(Result):
    """All of them, and what the observation covered.

    ``unseen`` is what could not be observed, with reasons. ``longest_gap_ns``: a shorter stop may
    have been missed. ``cpu_ns``: what the observation itself used.
    """

    started_ns: int
    processes: int
    devices: int
    looks: int
    longest_gap_ns: int
    cpu_ns: int
    unseen: list[str] = []
    episodes: list[Episode] = []
    left_out: int = 0


class CpuTimes(Result):
    """Seconds that one CPU spent, from /proc/stat."""

    cpu: int
    user_s: float
    nice_s: float = 0.0
    system_s: float
    irq_s: float = 0.0
    softirq_s: float = 0.0
    steal_s: float = 0.0


class BusyCpu(Result):
    """Elapsed less idle time of one CPU, and by how much it may be wrong."""

    cpu: int
    busy_ns: int
    uncertainty_ns: int


class BusyTime(Result):
    """Elapsed less idle time, stolen time included."""

    cpus: list[BusyCpu]


class Disturbance(Result):
    """What may have disturbed a measurement on this machine.

    ``clock_step_ns``: a step of CLOCK_REALTIME. ``frequency_hz``: by CPU, at the end; empty where
    the kernel reports none. ``throttled``: how often a CPU was slowed down for its heat; None where
    that is not counted.
    """

    clock_step_ns: int = 0
    frequency_hz: dict[int, int] = {}
    throttled: int | None = None


class TimeUse(Result):
    """Time on a CPU, by the scheduler's clock."""

    run_ns: int


class ThreadUse(TimeUse):
    """One thread's share."""

    tid: int
    name: str


class ProcessUse(Result):
    """One process's share, its threads named; ``vm_hwm_bytes`` is its peak memory."""

    label: str
    pid: int
    comm: str = ""
    run_ns: int | None = None
    """This and the following are None for a process that has died."""
    wait_ns: int | None = None
    """Of its threads: ready to run, but without a processor."""
    children_s: float | None = None
    """CPU time of children that ended meanwhile: all that they ever used."""
    used_before_ns: int | None = None
    """Only of a process that has died: what it had used at the start."""
    voluntary: int | None = None
    involuntary: int | None = None
    vm_hwm_bytes: int | None = None
    threads: list[ThreadUse] = []


class KernelThreadUse(Result):
    """A kernel thread's share."""

    comm: str
    run_ns: int | None = None


class OthersPackets(Result):
    """Packets of a device that are not the lab's: ``most`` were counted for longer than the time
    of the device's counts, ``least`` for less."""

    device: str
    most: TwoWay
    least: TwoWay


class DeviceUse(Result):
    """What a device counted (Ethernet bytes where it is an Ethernet device)."""

    name: str
    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    rx_dropped: int = 0
    tx_dropped: int = 0
    qdisc_drops: int = 0
    """Packets that the root qdisc dropped, its children's included."""
    unsure_tx_bytes: int = 0
    """IP bytes that were sent at one of the ends of the time, and may be subtracted wrongly."""

    def without(self, others: OthersPackets) -> DeviceUse:
        """What the device carried, without packets that are not the lab's."""
        received, sent = others.most.arriving, others.most.out
        return self.model_copy(
            update={
                "rx_packets": self.rx_packets - received.packets,
                "rx_bytes": self.rx_bytes - received.bytes - ETHERNET_HEADER * received.packets,
                "tx_packets": self.tx_packets - sent.packets,
                "tx_bytes": self.tx_bytes - sent.bytes - ETHERNET_HEADER * sent.packets,
                "unsure_tx_bytes": sent.bytes - others.least.out.bytes,
            }
        )


class UdpUse(Result):
    """The namespace's UDP counters (/proc/net/snmp)."""

    rcvbuf_errors: int = 0
    sndbuf_errors: int = 0


class Accounted(Result):
    """Result of an ``accounting`` task: differences between its start and its end."""

    seconds: float
    cpus: list[CpuTimes]
    busy: BusyTime | None = None
    """None where the kernel only samples idle time."""
    processes: list[ProcessUse] = []
    kernel_threads: list[KernelThreadUse] = []
    probe: TimeUse | None = None
    """The probe's own share."""
    devices: list[DeviceUse] = []
    udp: UdpUse = UdpUse()
    context_switches_total: int = 0
    disturbance: Disturbance = Disturbance()
    interference: Interference | None = None
    """None if it was not observed."""
    beside: OthersPackets | None = None
    """None if they were not counted."""
    foreign_s: float | None = None
    """CPU time of others' processes; None where they cannot be seen. Not from the probe: computed
    from the accounting of all."""

    def of_the_lab(self) -> Accounted:
        """What was accounted, without packets of a device that are known not to be the lab's."""
        others = self.beside
        if others is None:
            return self
        devices = [
            one.without(others) if one.name == others.device else one for one in self.devices
        ]
        return self.model_copy(update={"devices": devices})

    def device(self, name: str) -> DeviceUse | None:
        """The device of that name, if it was watched."""
        return next((device for device in self.devices if device.name == name), None)

    def counts(self, name: str) -> DeviceUse:
        """The counts of the device of that name; zeros if it was not watched."""
        return self.device(name) or DeviceUse(
            name=name, rx_packets=0, rx_bytes=0, tx_packets=0, tx_bytes=0
        )
