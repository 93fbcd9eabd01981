"""Features that steady figures need."""

from __future__ import annotations

from culvert.machine import without_root
from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.trials import privileges, steadiness

_EVERY = ("every measurement",)
STEADINESS: tuple[Feature, ...] = (
    Feature(
        "cpus",
        FeatureGroup.STEADINESS,
        _EVERY,
        "use a machine with four or more CPUs",
        steadiness.cpus,
    ),
    Feature(
        "governor",
        FeatureGroup.STEADINESS,
        _EVERY,
        "sudo cpupower frequency-set -g performance",
        steadiness.governor,
    ),
    Feature(
        "boost",
        FeatureGroup.STEADINESS,
        _EVERY,
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, or "
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        steadiness.boost,
    ),
    Feature(
        "smt",
        FeatureGroup.STEADINESS,
        _EVERY,
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        steadiness.smt,
    ),
    Feature(
        "clocksource",
        FeatureGroup.STEADINESS,
        ("rtt", "initiation"),
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        steadiness.clock,
    ),
    Feature(
        "hypervisor",
        FeatureGroup.STEADINESS,
        _EVERY,
        "compare only figures of the same run; for absolute figures use bare metal",
        steadiness.hypervisor,
    ),
    Feature(
        "real-time",
        FeatureGroup.STEADINESS,
        ("link wire",),
        without_root.REAL_TIME,
        privileges.real_time,
    ),
    Feature(
        "receive-buffers",
        FeatureGroup.STEADINESS,
        ("udp", "throughput"),
        without_root.BUFFERS,
        privileges.receive_buffers,
    ),
    Feature(
        "load",
        FeatureGroup.STEADINESS,
        _EVERY,
        "stop other programs (see top)",
        steadiness.load,
    ),
)
