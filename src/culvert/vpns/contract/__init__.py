"""The contract test: what every VPN driver must do, checked on a real lab.

For authors of drivers as well::

    from culvert.vpns.contract import check

    assert check(lambda: MyVpn(MyVpn.variants[0]), lambda: NetnsLab(new_run_id(), LabSpec())) == []
"""

from culvert.vpns.contract.check import Rule, Violation, check, smallest_topology

__all__ = ["Rule", "Violation", "check", "smallest_topology"]
