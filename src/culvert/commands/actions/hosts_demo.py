"""``culvert hosts demo``: a study over SSH on hosts of this machine's namespaces."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace

from culvert.commands.actions.run_study import run_study
from culvert.console import out, print_json
from culvert.errors import UsageError
from culvert.interruption import until_interrupted
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.kind import Hosts
from culvert.machine import rootless
from culvert.run.request import RunRequest
from culvert.topology.link.spec import ANY_LINK, LinkSpec
from culvert.units import QuantityError, parse_rate_bps


def run_on_demo(request: RunRequest, hosts: int, rate: str | None, *, as_json: bool) -> int:
    """The exit code of the run. Without ``rate`` the links have that of the study's. Raises
    NotPossible without root or sshd."""
    rootless.enter()
    # A study with an error is refused before anything is made.
    study, _, _ = request.prepared()
    link = _link(rate) if rate is not None else LinkSpec(rate_bps=study.file.lab.link.rate_bps)
    with DemoHosts(hosts, link) as demo:
        if not as_json:
            out.print(
                f"made {hosts} hosts, each a namespace with an sshd; they are removed at the end. "
                f"Their inventory: {demo.inventory}",
                style="dim",
                markup=False,
            )
        tally = run_study(
            replace(request, lab=Hosts({"inventory": demo.inventory})), as_json=as_json
        )
    return tally.exit_code


def keep_hosts(hosts: int, rate: str | None, *, as_json: bool) -> None:
    """Print how to use the hosts, and keep them until Ctrl-C."""
    with DemoHosts(hosts, ANY_LINK if rate is None else _link(rate)) as demo:
        addresses = {name: demo.management(name) for name in demo.names}
        with until_interrupted():
            if as_json:
                print_json(
                    {
                        "inventory": str(demo.inventory),
                        "ssh_config": str(demo.ssh_config),
                        "hosts": addresses,
                    }
                )
            else:
                _explain(demo, addresses)
            signal.pause()


def _explain(demo: DemoHosts, addresses: Mapping[str, str]) -> None:
    """How to reach the hosts, and to measure between them."""
    lines = [f"{len(addresses)} hosts, each a namespace of this machine with an sshd. To log in:"]
    lines += [f"  {name}: ssh -F {demo.ssh_config} {to}" for name, to in addresses.items()]
    lines += [
        "In another terminal, to check them and to measure between them:",
        f"  culvert hosts check --inventory {demo.inventory}",
        f"  culvert run quick --lab hosts --inventory {demo.inventory}",
        "Ctrl-C here removes them.",
    ]
    out.print("\n".join(lines), markup=False, soft_wrap=True)


def _link(rate: str) -> LinkSpec:
    try:
        return LinkSpec(rate_bps=parse_rate_bps(rate))
    except QuantityError as error:
        raise UsageError(f"--rate {rate}", error.why, "write 1Gbit/s") from error
