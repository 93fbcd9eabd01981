"""All tests with one VPN: from tests to records."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from culvert.errors import CulvertError, NotPossible
from culvert.features.record import Record
from culvert.features.verify.bench import Bench, FeatureTest, Finding, MakeVpn, Undecided
from culvert.features.verify.ipv6 import PingOverIpv6, TunnelOverIpv6
from culvert.features.verify.life import (
    NewKeys,
    OnlyCiphertext,
    SameAfterRestart,
    SmallerMtu,
    WithoutServers,
)
from culvert.features.verify.paths import (
    DirectPath,
    EveryPair,
    HolePunching,
    RelayBehindNats,
    RelayWithoutUdp,
    UnattendedJoin,
)
from culvert.features.verify.policy import ForbiddenFlows, PermittedPort
from culvert.labs.this_machine import ThisMachine

TESTS: tuple[type[FeatureTest], ...] = (
    EveryPair,
    UnattendedJoin,
    ForbiddenFlows,
    PermittedPort,
    HolePunching,
    RelayBehindNats,
    RelayWithoutUdp,
    OnlyCiphertext,
    DirectPath,
    WithoutServers,
    SameAfterRestart,
    NewKeys,
    SmallerMtu,
    PingOverIpv6,
    TunnelOverIpv6,
)


def verified(make: MakeVpn, tests: Sequence[type[FeatureTest]]) -> Iterator[Record]:
    """Run the tests in turn: a record of each. Raises NotPossible if the VPN is not installed."""
    vpn, host = make(), ThisMachine()
    for missing in vpn.missing(host):
        raise NotPossible(vpn.id, f"{missing.what} is missing", missing.remedy)
    version, bench = vpn.version(host), Bench(make)
    for test in tests:
        finding = _found(test(), bench)
        yield Record(
            vpn.id,
            test.criterion,
            test.name,
            finding.holds,
            finding.detail,
            version,
            platform.release(),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _found(test: FeatureTest, bench: Bench) -> Finding:
    """What went wrong decides nothing: it may be the machine."""
    try:
        return test.run(bench)
    except Undecided as error:
        return Finding(None, error.why)
    except CulvertError as error:
        return Finding(None, str(error))
