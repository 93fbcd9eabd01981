"""Features that measurements need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import accounting, quotas, sockets, steadiness

MEASUREMENT: tuple[Feature, ...] = (
    Feature(
        "capture",
        FeatureGroup.MEASUREMENT,
        ("the proof", "initiation"),
        kernel("af_packet", "CONFIG_PACKET"),
        sockets.capture,
        scratch=True,
    ),
    *(
        Feature(
            name,
            FeatureGroup.MEASUREMENT,
            (f"tcp with {name}",),
            kernel(f"tcp_{name}", option),
            sockets.congestion_control(name),
            scratch=True,
        )
        for name, option in (
            ("cubic", "CONFIG_TCP_CONG_CUBIC"),
            ("bbr", "CONFIG_TCP_CONG_BBR"),
            ("reno", "CONFIG_TCP_CONG_ADVANCED"),
        )
    ),
    Feature(
        "udp-gso",
        FeatureGroup.MEASUREMENT,
        ("udp at high packet rates",),
        "use Linux 4.18 or newer",
        sockets.segmentation,
        scratch=True,
    ),
    Feature(
        "udp-gro",
        FeatureGroup.MEASUREMENT,
        ("udp at high packet rates",),
        "use Linux 5.0 or newer",
        sockets.coalescing,
        scratch=True,
    ),
    Feature(
        "irq-time-accounting",
        FeatureGroup.MEASUREMENT,
        ("softirq in cpu",),
        "boot a kernel with CONFIG_IRQ_TIME_ACCOUNTING=y (distributions' kernels have it); until "
        "then use CPU per process instead of softirq",
        accounting.irq_time,
    ),
    Feature(
        "schedstat",
        FeatureGroup.MEASUREMENT,
        ("cpu per thread",),
        "boot a kernel with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT)",
        accounting.scheduler_statistics,
    ),
    Feature(
        "cgroups",
        FeatureGroup.MEASUREMENT,
        ("limits per node",),
        "sudo mount -t cgroup2 none /sys/fs/cgroup",
        steadiness.cgroups,
    ),
    Feature(
        "cpu-quota",
        FeatureGroup.MEASUREMENT,
        ("router = { quota = ... }",),
        "boot a kernel with CONFIG_CFS_BANDWIDTH, and let Culvert create control groups: in a "
        "container, docker run --privileged --cgroupns=host",
        quotas.cpu_quota,
    ),
)
