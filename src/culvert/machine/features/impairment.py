"""Features that the kernel's own impairments need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials.commands import feature

IMPAIRMENT: tuple[Feature, ...] = (
    feature(
        "tbf",
        FeatureGroup.IMPAIRMENT,
        "rate of a veth link",
        kernel("sch_tbf", "CONFIG_NET_SCH_TBF", 'link = "wire"'),
    ),
    feature(
        "netem",
        FeatureGroup.IMPAIRMENT,
        "link netem",
        kernel("sch_netem", "CONFIG_NET_SCH_NETEM", 'link = "wire"'),
    ),
    feature(
        "fq",
        FeatureGroup.IMPAIRMENT,
        "pacing by the kernel",
        kernel("sch_fq", "CONFIG_NET_SCH_FQ", "TCP's own pacing"),
    ),
    feature(
        "fq_codel",
        FeatureGroup.IMPAIRMENT,
        "queue management on a veth link",
        kernel("sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL", 'link = "wire"'),
    ),
)
