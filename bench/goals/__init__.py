"""The goals, one file each (or one for a few that are measured alike)."""

from bench.goal import Goal
from bench.goals.agent import AgentStart, StaticSize
from bench.goals.analysis_scale import AnalysisMemory, AnalysisTime
from bench.goals.calibration import Calibration
from bench.goals.clear_packet import ClearPacketHosts, ClearPacketNetns, ClearPacketPods
from bench.goals.cluster_leaks import ClusterLeaksCaught
from bench.goals.cluster_life import ClusterUp, PodsFirstFigure
from bench.goals.exact_loss import ExactLoss
from bench.goals.gate import GATES
from bench.goals.gateway_1000 import Gateway1000
from bench.goals.gateway_agreement import (
    GatewayAgrees8,
    GatewayAgrees32,
    GatewayEqualsTcp,
    GatewayEqualsUdp,
)
from bench.goals.history_scale import HistoryScale
from bench.goals.hosts_50 import Hosts50
from bench.goals.hosts_first_packet import HostsFirstPacket
from bench.goals.hosts_ratio import HostsRatio
from bench.goals.import_speed import ImportSpeed
from bench.goals.lab_200 import Lab200
from bench.goals.lab_1000 import Lab1000
from bench.goals.lab_up import LabUp
from bench.goals.latency import RttBesideSockperf, RttMemory, RttSchedule, RttScheduleFast
from bench.goals.machine_cpu import (
    MachineCpu,
    MachineCpuSteered,
    MachineCpuWithoutGro,
    SenderUnsteered,
)
from bench.goals.mesh_proved import MeshDirect, MeshRelayed
from bench.goals.packets_per_cpu import PACKETS_BESIDE, PacketsUnsegmented
from bench.goals.parts_within_whole import PartsWithinWhole
from bench.goals.pods_agreement import ApiAgreement, ApiAgreementAtThePapersRate, PodTcpAgreement
from bench.goals.quick import QuickMeasuring, QuickTime
from bench.goals.quick_verdicts import QuickVerdicts
from bench.goals.receiving import ReceiverCpu, ReceiverLoss
from bench.goals.replay import Replay, ReplayInTime
from bench.goals.report_time import ReportTime
from bench.goals.rootless import RootlessEqualsRoot
from bench.goals.rtt_agreement import (
    RttAgreement,
    RttAgreement10,
    RttAgreement1000,
    SmallRttAgreement,
)
from bench.goals.search_cost import SearchCost, SearchCostGso
from bench.goals.site_scale import SiteScale
from bench.goals.statements import STATEMENTS
from bench.goals.tcp_agreement import TcpAgreement, TcpAgreement10, TcpAgreement1000
from bench.goals.tcp_cpu import TcpCpu, TcpGoodput
from bench.goals.variants import Variants
from bench.goals.wire_floods import (
    WireHalfLoad,
    WireSinglePackets,
    WireSuperPackets,
    WireTcp,
)
from bench.goals.wire_loss import WireLoss, WireMemory
from bench.goals.wire_rate import WireBurst, WireRate
from bench.goals.wire_tcp_loss import WireTcpLoss
from bench.goals.wire_times import WireDelayMedian, WireDelayTail, WireRtt
from bench.goals.wireguard_proved import WireGuardProved

GOALS: tuple[type[Goal], ...] = (
    LabUp,
    Lab200,
    Lab1000,
    Gateway1000,
    WireGuardProved,
    MeshDirect,
    MeshRelayed,
    ClusterUp,
    PodsFirstFigure,
    ClusterLeaksCaught,
    PodTcpAgreement,
    ApiAgreement,
    ApiAgreementAtThePapersRate,
    Variants,
    RootlessEqualsRoot,
    HostsRatio,
    GatewayEqualsTcp,
    GatewayEqualsUdp,
    GatewayAgrees8,
    GatewayAgrees32,
    Hosts50,
    HostsFirstPacket,
    MachineCpu,
    MachineCpuSteered,
    MachineCpuWithoutGro,
    *PACKETS_BESIDE,
    SenderUnsteered,
    PacketsUnsegmented,
    ReceiverLoss,
    ReceiverCpu,
    ClearPacketNetns,
    ClearPacketHosts,
    ClearPacketPods,
    SearchCost,
    SearchCostGso,
    TcpGoodput,
    TcpCpu,
    TcpAgreement,
    TcpAgreement10,
    TcpAgreement1000,
    RttAgreement,
    RttAgreement10,
    RttAgreement1000,
    SmallRttAgreement,
    RttBesideSockperf,
    RttSchedule,
    RttScheduleFast,
    RttMemory,
    Calibration,
    ExactLoss,
    AgentStart,
    StaticSize,
    QuickTime,
    QuickVerdicts,
    QuickMeasuring,
    PartsWithinWhole,
    *GATES,
    *STATEMENTS,
    ImportSpeed,
    Replay,
    ReplayInTime,
    ReportTime,
    HistoryScale,
    SiteScale,
    AnalysisTime,
    AnalysisMemory,
    WireTcp,
    WireTcpLoss,
    WireSinglePackets,
    WireSuperPackets,
    WireHalfLoad,
    WireDelayMedian,
    WireDelayTail,
    WireRtt,
    WireRate,
    WireBurst,
    WireLoss,
    WireMemory,
)
