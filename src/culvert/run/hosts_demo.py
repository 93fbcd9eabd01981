"""``culvert hosts demo``: a study over SSH on hosts of this machine's namespaces."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from culvert.console import out, print_json
from culvert.errors import UsageError
from culvert.labs.hosts.demo import DemoHosts
from culvert.run.command import run_study
from culvert.run.request import RunRequest
from culvert.topology.link.spec import ANY_LINK, LinkSpec
from culvert.units import RateBps


def run_on_demo(request: RunRequest, hosts: int, rate: str | None, *, as_json: bool) -> int:
    """The exit code of the run. Raises NotPossible without root or sshd."""
    with DemoHosts(hosts, _link(rate)) as demo:
        if not as_json:
            out.print(f"{hosts} hosts, inventory {demo.inventory}", style="dim")
        tally = run_study(replace(request, inventory=demo.inventory), as_json=as_json)
    return tally.exit_code


def keep_hosts(hosts: int, rate: str | None, *, as_json: bool) -> None:
    """Print how to use the hosts, and keep them until Ctrl-C."""
    with DemoHosts(hosts, _link(rate)) as demo:
        addresses = {name: demo.management(name) for name in demo.names}
        with suppress(KeyboardInterrupt):
            if as_json:
                print_json(
                    {
                        "inventory": str(demo.inventory),
                        "ssh_config": str(demo.ssh_config),
                        "hosts": addresses,
                    }
                )
            else:
                for name, address in addresses.items():
                    out.print(f"{name}: ssh -F {demo.ssh_config} {address}", markup=False)
                out.print(
                    f"\nculvert run quick --lab hosts --inventory {demo.inventory}"
                    "\n\nCtrl-C removes them.",
                    markup=False,
                )
            signal.pause()


def _link(rate: str | None) -> LinkSpec:
    if rate is None:
        return ANY_LINK
    try:
        return LinkSpec(rate_bps=TypeAdapter(RateBps).validate_python(rate))
    except ValidationError:
        raise UsageError(f"rate '{rate}'", "is no rate", "write 1Gbit/s") from None
