"""Features that the kernel's own impairments need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials.commands import trial

IMPAIRMENT: tuple[Feature, ...] = (
    Feature(
        "tbf",
        FeatureGroup.IMPAIRMENT,
        ("rate of a veth link",),
        kernel("sch_tbf", "CONFIG_NET_SCH_TBF", 'link = "wire"'),
        trial("tbf"),
        scratch=True,
    ),
    Feature(
        "netem",
        FeatureGroup.IMPAIRMENT,
        ("link netem",),
        kernel("sch_netem", "CONFIG_NET_SCH_NETEM", 'link = "wire"'),
        trial("netem"),
        scratch=True,
    ),
    Feature(
        "fq",
        FeatureGroup.IMPAIRMENT,
        ("pacing by the kernel",),
        kernel("sch_fq", "CONFIG_NET_SCH_FQ", "TCP's own pacing"),
        trial("fq"),
        scratch=True,
    ),
    Feature(
        "fq_codel",
        FeatureGroup.IMPAIRMENT,
        ("queue management on a veth link",),
        kernel("sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL", 'link = "wire"'),
        trial("fq_codel"),
        scratch=True,
    ),
)
