"""An API server of the embedded cluster, alone: objects can be made, and no pod starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster
from culvert.labs.kubernetes.embedded.node import Underlay
from culvert.labs.kubernetes.embedded.programs.built import BUILD_IT, built
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedCluster]:
    """etcd, API server and controllers on one node."""
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    programs = built()
    if programs is None or os.geteuid() != 0:
        pytest.skip(f"the programs of the embedded cluster are not built: {BUILD_IT}")
    lab = NetnsLab(new_run_id(), LabSpec())
    with lab:
        underlay = Underlay("u0", lab.a.underlay.address.ip, 1500)
        made = EmbeddedCluster(lab, programs, control="a", underlays={"a": underlay})
        try:
            made.open(print)
            yield made
        finally:
            made.close()
