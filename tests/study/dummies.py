"""Measurements and VPNs that exist for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from culvert.errors import UsageError
from culvert.metrics import MetricSpec
from culvert.study.catalogue import Catalogue
from culvert.study.study import Study
from culvert.units import DurationS, PerSecond

VPNS = ("none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")


class _Base(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TcpParameters(_Base):
    duration_s: Annotated[DurationS, Field(gt=0)] = Field(10.0, alias="duration")
    warmup_s: DurationS = Field(0.0, alias="warmup")
    congestion_control: Annotated[str, Field(pattern="^[a-z]+$")] = "cubic"


class UdpParameters(_Base):
    packet_size: Annotated[int, Field(ge=28, le=65535)] | Literal["max"] = "max"
    duration_s: Annotated[DurationS, Field(gt=0)] = Field(10.0, alias="duration")
    rate_pps: Annotated[PerSecond, Field(gt=0)] | None = Field(None, alias="rate")


class RttParameters(_Base):
    rate_pps: Annotated[PerSecond, Field(gt=0)] = Field(1000.0, alias="rate")
    probes: Annotated[int, Field(ge=1)] = 1000
    percentiles: tuple[float, ...] = (50.0, 99.0)


class InitiationParameters(_Base):
    cycles: Annotated[int, Field(ge=1)] = 5


class Tcp:
    kind: ClassVar[str] = "tcp"
    summary: ClassVar[str] = "a dummy"
    Parameters: ClassVar[type[BaseModel]] = TcpParameters
    metrics: ClassVar[Sequence[MetricSpec]] = (MetricSpec("goodput_bps", "bit/s", "goodput_bps"),)


class Udp:
    kind: ClassVar[str] = "udp"
    summary: ClassVar[str] = "a dummy"
    Parameters: ClassVar[type[BaseModel]] = UdpParameters
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("goodput_bps", "bit/s", "goodput_bps"),
        MetricSpec("loss_ratio", "1", "loss_ratio"),
    )


class Rtt:
    kind: ClassVar[str] = "rtt"
    summary: ClassVar[str] = "a dummy"
    Parameters: ClassVar[type[BaseModel]] = RttParameters
    metrics: ClassVar[Sequence[MetricSpec]] = (MetricSpec("rtt_p50_us", "us", "rtt_p50_us"),)


class Initiation:
    kind: ClassVar[str] = "initiation"
    summary: ClassVar[str] = "a dummy"
    Parameters: ClassVar[type[BaseModel]] = InitiationParameters
    metrics: ClassVar[Sequence[MetricSpec]] = (MetricSpec("total_ms", "ms", "total_ms"),)


def canonical_vpn(word: str) -> str:
    vpn, *options = word.split("+")
    if vpn not in VPNS:
        raise UsageError(f'VPN "{word}"', "there is none of that name", 'did you mean "none"?')
    return "+".join((vpn, *sorted(options)))


CATALOGUE = Catalogue(
    {"tcp": Tcp(), "udp": Udp(), "rtt": Rtt(), "initiation": Initiation()}, canonical_vpn
)

HEAD = 'name = "s"\nvpns = ["none", "wireguard/go"]\n'
UDP = '[[measurement]]\nkind = "udp"\n'


def parse(text: str, **options: Any) -> Study:
    return Study.parse(text, CATALOGUE, source="s.toml", **options)
