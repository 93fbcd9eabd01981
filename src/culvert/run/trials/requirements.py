"""What a trial needs, as far as it is known before a lab is built: the run looks at it before its
first trial, and each trial again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from pydantic import BaseModel

from culvert.errors import NotPossible
from culvert.labs.cpu.turbo import require_turbo
from culvert.labs.host import Host
from culvert.labs.together import at_once
from culvert.measurements.base import Measurement
from culvert.measurements.instruments.base import Instrument, program
from culvert.run.trials.paths import require_room
from culvert.topology.shapes import serving
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn
from culvert.vpns.parts import kill_switch
from culvert.vpns.parts.aes import kernel_use, require_requested_aes
from culvert.vpns.variant import DataCipher, DataPath, Missing, in_words


class NotInstalled(NotPossible):
    """Machines of the nodes lack something that the VPN needs."""


def laid_out(
    vpn: Vpn[Any], spec: LabSpec, measurement: Measurement[Any], parameters: BaseModel
) -> LabSpec:
    """The lab of a trial, its servers included, for the lab of its condition. Raises NotPossible
    for what no machine can do, and UsageError for a topology without a place for a server."""
    spec = measurement.lab(spec.unobstructed() if measurement.of_the_link else spec, parameters)
    require_room(vpn, spec.topology)
    refuse_without_effect(vpn, spec)
    vpn.require_support(spec)
    starts = measurement.drives_tunnel or measurement.joins_members
    if spec.processors.tunnel and starts:
        raise NotPossible(
            "tunnel_rps, tunnel_xps",
            f"{measurement.kind} starts the VPN itself, and its device is a new one then",
            "leave the measurement out in this condition",
        )
    return replace(spec, topology=serving(spec.topology, vpn.needs))


def instrument_of(parameters: BaseModel) -> Instrument:
    """What makes and measures the traffic."""
    found = getattr(parameters, "instrument", None)
    return found if isinstance(found, Instrument) else Instrument.PROBE


def require_machines(
    vpn: Vpn[Any],
    hosts: Iterable[Host],
    *,
    aes: bool | None,
    turbo: bool | None,
    instrument: Instrument,
) -> None:
    """Raise NotPossible for what the machines of the nodes lack: the VPN's programs, features of
    the kernel, the instrument. ``aes`` and ``turbo`` are the condition's."""
    there = list(hosts)
    if turbo is not None:
        require_turbo(turbo, there)
    missing = list(chain(*at_once(lambda host: _missing(vpn, host), there))) if there else []
    if missing:
        what, remedy = in_words(missing)
        raise NotInstalled("missing", what, remedy)
    in_kernel = vpn.data_path is DataPath.KERNEL and vpn.variant.cipher is DataCipher.AES
    for host in there:
        if in_kernel and aes is False:
            require_requested_aes(False, kernel_use(host))
        if instrument is not Instrument.PROBE:
            program(host, instrument)


def _missing(vpn: Vpn[Any], host: Host) -> list[Missing]:
    return [one.on(host) for one in vpn.missing(host)]


def refuse_without_effect(vpn: Vpn[Any], spec: LabSpec) -> None:
    """Raise NotPossible for a CPU quota that does not limit the VPN's data path, a variant of
    clusters, and a kill switch beside which nothing leaves anyway."""
    if vpn.variant.of_clusters:
        raise NotPossible(
            vpn.id,
            "it sets the MTU of a cluster's overlay, which this lab lacks",
            "run it with --lab kubernetes --cluster embedded",
        )
    if kill_switch.OPTION in vpn.chosen and not spec.topology.full_tunnel:
        raise NotPossible(
            vpn.id,
            f"+{kill_switch.OPTION} has no effect where the tunnel is not the default route",
            'write topology = "public", or leave the option out',
        )
    if vpn.data_path is DataPath.KERNEL and spec.processors.quota:
        raise NotPossible(
            "router.quota",
            f"the data path of {vpn.id} is in the kernel, and a quota limits programs only",
            "emulate the slow machine with fewer cores, or use a VPN in user space",
        )
