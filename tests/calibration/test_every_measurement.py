"""Each measurement states truths: what a link fixes of its figures. A new one must join."""

from __future__ import annotations

import math
from typing import Any

import pytest

from culvert.calibration.rows import SCALES
from culvert.metrics import EVERY_TRIAL
from culvert.proof.known import KnownPath
from culvert.study.catalogue import installed_measurements
from culvert.study.study import Study
from culvert.topology import shapes
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.vpns.registry import installed_catalogue

MEASUREMENTS: dict[str, Any] = installed_measurements()
LINK = LinkSpec(
    "wire",
    rate_bps=20_000_000,
    impairment=Impairment.both(OneWay(delay_ns=20_000_000)),
)
NEED_A_VPN = {"acl", "failover", "k8s_api"}
"""What they measure, a path without a VPN does not have: no calibration study measures them."""


def known_path(kind: str, parameters: object, *, bare: bool = True) -> KnownPath:
    crowd = kind in ("gateway_load", "gateway_search", "session_storm")
    spec = LabSpec(topology=shapes.star(8) if crowd else shapes.pair(), link=LINK)
    spec = MEASUREMENTS[kind].lab(spec, parameters)
    path = spec.topology.paths[0]
    return KnownPath(spec, path, spec.path_link(path), bare)


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_each_measurement_has_a_truth(kind: str) -> None:
    measurement = MEASUREMENTS[kind]
    parameters = measurement.Parameters()
    truths = measurement.truths(known_path(kind, parameters), parameters)
    judged = [truth for truth in truths if truth.value is not None]
    assert judged, f"{kind} states no truth: give its class a method truths()"
    declared = {spec.name for spec in (*EVERY_TRIAL, *measurement.metrics)}
    for truth in truths:
        assert truth.metric in declared
        if truth.value is not None:
            assert math.isfinite(truth.least)
            assert truth.least <= truth.value <= truth.most <= truth.bound
            assert truth.because


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_with_a_vpn_a_truth_never_needs_the_bare_link(kind: str) -> None:
    """Only what the parameters themselves fix, and bounds."""
    measurement = MEASUREMENTS[kind]
    parameters = measurement.Parameters()
    truths = measurement.truths(known_path(kind, parameters, bare=False), parameters)
    fixed = {truth.metric for truth in truths if truth.value is not None}
    assert kind in NEED_A_VPN or fixed <= {"connected_clients"}


def test_the_calibration_studies_measure_everything_that_needs_no_vpn() -> None:
    measured = set()
    for name, scale in SCALES.items():
        study = Study.load(name, installed_catalogue(), scale=scale)
        measured |= {one.kind for each in study.requested.values() for one in each}
        assert study.vpns == ("none",)
    # The run verifies each condition's links by itself: that is the underlay.
    assert measured == set(MEASUREMENTS) - NEED_A_VPN - {"underlay"}
