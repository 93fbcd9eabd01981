"""The contract test: what every VPN driver must do, checked on a real lab.

For authors of drivers as well::

    from culvert.vpns.contract import check

    assert check(lambda: MyVpn(MyVpn.variants[0]), lambda: NetnsLab(new_run_id(), LabSpec())) == []
"""

from culvert.vpns.contract.check import check, examine, smallest_topology
from culvert.vpns.contract.rules import LogTail, Report, Rule, Verdict, Violation

__all__ = [
    "LogTail",
    "Report",
    "Rule",
    "Verdict",
    "Violation",
    "check",
    "examine",
    "smallest_topology",
]
