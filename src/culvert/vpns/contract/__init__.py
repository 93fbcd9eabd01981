"""The contract test: what every VPN driver must do, checked on a real lab."""

from culvert.vpns.contract.check import check, check_here, examine, smallest_lab, smallest_topology
from culvert.vpns.contract.rules import LogTail, Report, Rule, Verdict, Violation

__all__ = [
    "LogTail",
    "Report",
    "Rule",
    "Verdict",
    "Violation",
    "check",
    "check_here",
    "examine",
    "smallest_lab",
    "smallest_topology",
]
