"""The metrics of the rates that the search finds (NDR, PDR), declared and from its bounds."""

from __future__ import annotations

from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.measurements.udp.search import Bounds
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.results import Metric, measured


def _declared(
    short: str, title: str, weight: Weight, column: HeadlineColumn | None = None
) -> tuple[MetricSpec, ...]:
    return (
        MetricSpec(
            f"{short}_pps", "packets/s", title, Better.MORE, weight, drawn=True, column=column
        ),
        MetricSpec(f"{short}_forwarded_pps", "packets/s", f"{title}, forwarded", Better.MORE),
        MetricSpec(f"{short}_upper_pps", "packets/s", f"{title}, upper bound", Better.MORE),
        MetricSpec(f"{short}_bps", "bit/s", f"{title}, in bits", Better.MORE),
        MetricSpec(f"{short}_width_ratio", "1", f"{title}, relative width of the bounds"),
    )


_PDR = HeadlineColumn(
    "UDP rate with little loss (PDR)",
    place=15,
    superlative="Highest UDP rate with little loss (PDR)",
    sentence="forwards {} of UDP with little loss (PDR)",
    smallest="packet_size",
)
RATE_METRICS = (
    *_declared("pdr", "Rate with little loss (PDR)", Weight.MAIN, _PDR),
    *_declared("ndr", "Rate without loss (NDR)", Weight.KEY),
)


def rate_metrics(name: str, bounds: Bounds, size: int) -> list[Metric]:
    """``bps`` are bits of UDP payload, as goodput; 0 if even the lowest rate lost too much."""
    lower = bounds.lower_pps or 0.0
    values = {
        f"{name}_pps": lower,
        f"{name}_bps": lower * 8 * (size - UDP_HEADERS),
        f"{name}_forwarded_pps": bounds.forwarded_pps,
        f"{name}_upper_pps": bounds.upper_pps,
        f"{name}_width_ratio": bounds.width,
    }
    return measured(RATE_METRICS, values)
