"""netclient's rules: it makes tables of nftables with usual names, and leaves them.

Those that a member had before are not netclient's and stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from culvert.vpns.authoring import (
    LEAVE_OUT,
    AssigningMeshVpn,
    Lab,
    Node,
    NotPossible,
    Policy,
    Process,
)

_TABLES = frozenset({"inet filter", "inet nat"})


def tables(node: Node) -> frozenset[str]:
    """Those of netclient's names that a node has; none without nft."""
    nft = node.find("nft")
    lines = node.run([nft, "list", "tables"], check=False).stdout.splitlines() if nft else ()
    return _TABLES & {line.removeprefix("table ").strip() for line in lines}


class LeavesTables(AssigningMeshVpn):
    """A mesh whose members' new tables are removed when it is stopped."""

    def prepare(self, lab: Lab) -> None:
        """Also see what each member has before."""
        self._tables = {member.name: tables(member) for member in lab.members}
        super().prepare(lab)

    def apply_policy(self, policy: Policy) -> None:
        """Not possible. Source: logic/acls.go and logic/peers.go of Netmaker 1.4."""
        del policy
        why = "its free edition permits or forbids pairs of members, not protocols or ports"
        raise NotPossible(self.id, why, LEAVE_OUT)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        if ended and node in self.lab.members:
            for table in sorted(tables(node) - self._tables[node.name]):
                node.run([str(node.find("nft")), "delete", "table", *table.split()], check=False)
