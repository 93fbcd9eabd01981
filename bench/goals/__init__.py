"""The goals, one file each."""

from bench.goal import Goal
from bench.goals.lab_up import LabUp
from bench.goals.quick import QuickMeasuring, QuickTime
from bench.goals.rtt_agreement import RttAgreement, SmallRttAgreement
from bench.goals.tcp_agreement import TcpAgreement
from bench.goals.wireguard_proved import WireGuardProved

GOALS: tuple[type[Goal], ...] = (
    LabUp,
    WireGuardProved,
    TcpAgreement,
    RttAgreement,
    SmallRttAgreement,
    QuickTime,
    QuickMeasuring,
)
