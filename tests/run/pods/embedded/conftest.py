"""A cluster for the tests of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.embedded.programs.built import BUILD_IT, built
from culvert.labs.probes import static_probe
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.vpns import registry
from tests.here import HERE
from tests.run.pods.embedded.running import STEPS, WIREGUARD

OURS = (
    *("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom"),
    *("net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max", "kernel/keys/root_maxkeys"),
)


def settings() -> dict[str, str]:
    """The machine's own, which a cluster must not change."""
    paths = {name: Path("/proc/sys") / name for name in OURS}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


@pytest.fixture(scope="module")
def clusters() -> Iterator[EmbeddedClusters]:
    """One cluster at a time; tests are in the order of the VPNs."""
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    if built() is None or os.geteuid() != 0:
        pytest.skip(f"the programs of the embedded cluster are not built: {BUILD_IT}")
    try:
        static_probe("the probe's image")
    except NotPossible as error:
        pytest.skip(str(error))
    if lacks := registry.create(registry.parse(WIREGUARD)).missing(HERE):
        pytest.skip(f"{lacks[0].what}: {lacks[0].remedy}")
    before = settings()
    made = EmbeddedClusters()
    STEPS.clear()
    made.say = STEPS.append
    with made:
        yield made
    assert settings() == before
