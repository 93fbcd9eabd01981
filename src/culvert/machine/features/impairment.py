"""Features that the kernel's own impairments need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import qdiscs

IMPAIRMENT: tuple[Feature, ...] = (
    Feature(
        "tbf",
        FeatureGroup.IMPAIRMENT,
        ("rate of a veth link",),
        kernel("sch_tbf", "CONFIG_NET_SCH_TBF", 'link = "wire"'),
        qdiscs.qdisc("tbf", rate=125_000, burst=3_000, latency=10_000),
        scratch=True,
    ),
    Feature(
        "netem",
        FeatureGroup.IMPAIRMENT,
        ("link netem",),
        kernel("sch_netem", "CONFIG_NET_SCH_NETEM", 'link = "wire"'),
        qdiscs.qdisc("netem", delay=10_000),
        scratch=True,
    ),
    Feature(
        "fq",
        FeatureGroup.IMPAIRMENT,
        ("pacing by the kernel",),
        kernel("sch_fq", "CONFIG_NET_SCH_FQ", "TCP's own pacing"),
        qdiscs.qdisc("fq"),
        scratch=True,
    ),
    Feature(
        "fq_codel",
        FeatureGroup.IMPAIRMENT,
        ("queue management on a veth link",),
        kernel("sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL", 'link = "wire"'),
        qdiscs.qdisc("fq_codel"),
        scratch=True,
    ),
)
