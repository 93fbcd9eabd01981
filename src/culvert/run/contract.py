"""``culvert vpns check``: the contract test of a driver, rule by rule."""

from __future__ import annotations

from rich.markup import escape

from culvert.console import out, print_json
from culvert.errors import NotPossible, UsageError
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.this_machine import ThisMachine
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.contract import Rule, Violation, check, smallest_topology


def check_contract(word: str, link: str, *, as_json: bool) -> bool:
    """Print each rule and whether the driver passes it; True if it passes all.

    Raises UsageError for an unknown VPN or link, NotPossible if a requirement is missing here.
    """
    if link not in ("veth", "wire"):
        raise UsageError(f"link '{link}'", "is unknown", "use veth or wire")
    vpn_id = registry.parse(word)
    vpn = registry.create(vpn_id)
    for missing in vpn.missing(ThisMachine()):
        raise NotPossible(vpn.id, f"{missing.what} is missing", missing.remedy)
    spec = LabSpec(smallest_topology(vpn), LinkSpec(kind="wire" if link == "wire" else "veth"))

    def make_vpn() -> Vpn:
        return registry.create(vpn_id)

    def make_lab() -> Lab:
        return NetnsLab(new_run_id(), spec)

    found = check(make_vpn, make_lab)
    if as_json:
        print_json({"vpn": vpn.id, "kept": not found, "violations": [_as_json(v) for v in found]})
    else:
        _show(vpn.id, found)
    return not found


def _as_json(violation: Violation) -> dict[str, str]:
    return {"rule": violation.rule.name.lower(), "detail": violation.detail}


def _show(name: str, found: list[Violation]) -> None:
    broken = {violation.rule for violation in found}
    for rule in Rule:
        mark = "[yellow]no [/]" if rule in broken else "[green]yes[/]"
        out.print(f"  {mark}  {escape(str(rule))}")
        for violation in found:
            if violation.rule is rule:
                out.print(f"       {violation.detail}", markup=False, style="yellow")
    verdict = f"fails {len(broken)} of {len(Rule)} rules" if found else "passes the contract test"
    out.print(f"{name} {verdict}", markup=False, style="bold")
