"""The installed measurements' declarations of a run's metrics.

A run may hold metrics of a measurement that is not installed any more, or that only an import has.
They are looked up by name among all declarations; an undeclared metric has no title and no better
direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from culvert.metrics import EVERY_TRIAL, Better, HeadlineColumn, MetricSpec, Weight
from culvert.metrics.every_trial import IMPORTED
from culvert.results import Label, undeclared
from culvert.study.catalogue import MeasurementType, usable_measurements
from culvert.study.vpn_id import bare


@cache
def measurements() -> Mapping[str, MeasurementType]:
    """The installed measurements by kind, without those that cannot be loaded."""
    return usable_measurements()


_UNITS = frozenset({"us", "ms", "s", "ns", "bps", "pps", "bytes", "percent", "ratio"})


def title_of(metric: str, measurement: str) -> str:
    """The title that its own measurement, every trial or an import declares; without one,
    ``rtt_idle_p50_us`` as ``rtt idle p50``: the unit is next to the number."""
    own = _declared().get(measurement, {}).get(metric)
    shared = (spec for spec in (*EVERY_TRIAL, *IMPORTED) if spec.name == metric)
    spec = own or next(shared, None)
    if spec and spec.title:
        return spec.title
    words = metric.removesuffix("_per_s").split("_")
    if len(words) > 1 and words[-1] in _UNITS:
        words.pop()
    return " ".join(words)


def measurement_title(kind: str) -> str:
    """A few words for a measurement; its kind with blanks where it is not installed."""
    return getattr(measurements().get(kind), "title", "") or kind.replace("_", " ")


def label_of(measurement: str, parameter: str) -> Label:
    """How a parameter is written: as its own measurement declares it, else any other."""
    own = parameter_labels(measurement).get(parameter)
    return own or _labels_by_name().get(parameter) or undeclared(parameter)


@cache
def parameter_labels(measurement: str) -> Mapping[str, Label]:
    """The parameters of a measurement in their order."""
    model = getattr(measurements().get(measurement), "Parameters", None)
    fields = model.model_fields.items() if model is not None else ()
    named = {one.alias or name: one.metadata for name, one in fields}
    return {
        name: next((one for one in metadata[::-1] if isinstance(one, Label)), undeclared(name))
        for name, metadata in named.items()
    }


@cache
def _labels_by_name() -> Mapping[str, Label]:
    return {
        name: label
        for kind in sorted(measurements(), reverse=True)
        for name, label in parameter_labels(kind).items()
    }


def better_of(metric: str, measurement: str = "") -> Better:
    """The better direction of a metric: by its own measurement, as a metric of every trial or of an
    import, else by any other measurement."""
    spec = _declared().get(measurement, {}).get(metric) or _by_name().get(metric)
    return spec.better if spec else Better.NEITHER


def competes(vpn: str, metric: str, measurement: str) -> bool:
    """Whether a VPN is tested together with the others. A link without a VPN is not where only the
    absolute value means something: its scatter would be taken for theirs."""
    spec = _declared().get(measurement, {}).get(metric)
    absolute = spec is not None and spec.column is not None and spec.column.absolute
    return not (absolute and bare(vpn))


def headline_columns() -> Iterator[tuple[str, MetricSpec, HeadlineColumn]]:
    """Measurement, metric and column of the report's headline, in their order.

    Of two columns with one key, which two packages may declare, the later has none.
    """
    found = [
        (measurement, spec, spec.column)
        for measurement, specs in _declared().items()
        for spec in specs.values()
        if spec.column is not None
    ]
    taken: set[str] = set()
    for measurement, spec, column in sorted(
        found, key=lambda one: (one[2].place, one[0], one[1].name)
    ):
        yield measurement, spec, replace(column, key="") if column.key in taken else column
        taken.add(column.key)


def main_metrics() -> Mapping[str, str]:
    """The main metric of each measurement that has one."""
    found = {kind: getattr(one, "headline", "") for kind, one in measurements().items()}
    return {kind: metric for kind, metric in found.items() if metric}


def headline_metrics() -> frozenset[tuple[str, str]]:
    """Measurement and name of the measurements' main metrics and of the headline's columns."""
    columns = ((measurement, spec.name) for measurement, spec, _ in headline_columns())
    return frozenset((*main_metrics().items(), *columns))


def figures() -> frozenset[str]:
    """Names of the measurements' main metrics and of the headline's columns."""
    return frozenset(metric for _, metric in headline_metrics())


def compared_metrics() -> tuple[str, ...]:
    """Names of the metrics that are compared unless others are requested."""
    declared = (spec for specs in _declared().values() for spec in specs.values())
    names = (spec.name for spec in (*EVERY_TRIAL, *declared) if spec.compared)
    return tuple(dict.fromkeys(names))


def drawn_metrics(measurement: str) -> tuple[str, ...]:
    """Names of the metrics that the report draws for a measurement without its own figures."""
    specs = _declared().get(measurement, {}).values()
    return tuple(spec.name for spec in specs if spec.drawn or spec.weight is Weight.MAIN)


@cache
def _declared() -> Mapping[str, Mapping[str, MetricSpec]]:
    return {
        kind: {spec.name: spec for spec in getattr(one, "metrics", ())}
        for kind, one in measurements().items()
    }


@cache
def _by_name() -> Mapping[str, MetricSpec]:
    """If measurements declare a name differently, one with a better direction is used."""
    found: dict[str, MetricSpec] = {}
    for specs in (*_declared().values(), {spec.name: spec for spec in (*EVERY_TRIAL, *IMPORTED)}):
        for name, spec in specs.items():
            if name not in found or found[name].better is Better.NEITHER:
                found[name] = spec
    return found
