"""VPNs are installed on hosts by Ansible; a second time nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.install.on_hosts import HostsInstall, install_on_hosts, playbook_lines
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.listed.inventory import HostEntry, read_inventory
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.none import NoVpn
from culvert.vpns.registry import Registry
from tests.cli import Cli
from tests.install.test_roles import Works
from tests.labs.hosts.connections import connect
from tests.run.fakes import Count, Fake


def test_lines_of_a_role_are_counted_without_comments(tmp_path: Path) -> None:
    tasks = tmp_path / "role/tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text("---\n# why\n- name: One\n\n  ping:\n")
    assert playbook_lines("role", [tmp_path]) == 2
    assert playbook_lines("none", [tmp_path]) == 0


def test_a_vpn_without_a_role_has_nothing_to_install(say: Cli, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[all]\na\nb\n")
    told = say("hosts", "install", "none", "--inventory", tmp_path / "hosts.ini")
    assert (told.code, told.out.strip()) == (0, "nothing to install for none")


@pytest.mark.lab
@pytest.mark.vpn
def test_what_is_installed_is_not_changed(say: Cli, demo: DemoHosts) -> None:
    told = say("hosts", "install", "wireguard/go", "--inventory", demo.inventory, "--json")
    (found,) = json.loads(told.out)
    assert told.code == 0, found
    assert [host["host"] for host in found["hosts"]] == ["a", "b"]
    assert all(host["ok"] and not host["changed"] for host in found["hosts"])
    assert found["playbook_lines"] > 5


def installed(
    monkeypatch: pytest.MonkeyPatch, demo: DemoHosts, place: Path, variables: dict[str, str]
) -> HostsInstall:
    """A role that makes a directory below ``culvert_tools``, with these variables of host a."""
    known = Registry({NoVpn.name: NoVpn, Works.name: Works}, {})
    monkeypatch.setattr(registry, "installed", lambda: known)
    monkeypatch.setattr("culvert.install.on_hosts.append", lambda _: None)  # the user's own record
    content = json.loads(demo.inventory.read_text())
    content["all"]["hosts"] = {"a": content["all"]["hosts"]["a"] | variables}
    inventory = place / "hosts.yml"
    inventory.write_text(json.dumps(content))
    (found,) = install_on_hosts(["works"], inventory, read_inventory(inventory).hosts, None)
    return found


@pytest.mark.lab
def test_programs_go_where_the_inventory_has_them(
    monkeypatch: pytest.MonkeyPatch, demo: DemoHosts, fleet: Fleet, tmp_path: Path
) -> None:
    place = "/var/tmp/own-tools"  # of the host alone
    found = installed(monkeypatch, demo, tmp_path, {"culvert_tools": place})
    assert found.ok, found.failures
    (host,) = connect(fleet, fleet.inventory.hosts[:1])
    assert host.exists(f"{place}/slow-fast")


@pytest.mark.lab
def test_unknown_host_keys_are_refused_against_the_users_configuration(
    monkeypatch: pytest.MonkeyPatch, demo: DemoHosts, tmp_path: Path
) -> None:
    config, known = tmp_path / "config", tmp_path / "known"
    known.touch()
    # Another name, so that no connection which Ansible keeps is used.
    own = f"Host stranger\n HostName {demo.management('a')}\n UserKnownHostsFile {known}\n"
    own += " StrictHostKeyChecking accept-new\n UpdateHostKeys yes\n"
    config.write_text(own + demo.ssh_config.read_text())
    words = f"-F {config} -o StrictHostKeyChecking=no"
    variables = {"ansible_host": "stranger", "ansible_ssh_common_args": words}
    variables["ansible_ssh_args"] = "-o StrictHostKeyChecking=no"
    found = installed(monkeypatch, demo, tmp_path, variables)
    assert found.hosts[0].unreachable
    assert "Host key verification failed" in str(found.failures)
    assert known.read_text() == ""


def test_what_a_host_lacks_is_installed_on_hosts(tmp_path: Path) -> None:
    entry = HostEntry("a", "192.0.2.1", inventory=Path("my hosts.yml"))
    host = SshHost(entry, "abc123", SshConnection(entry, tmp_path / "socket"))

    class Unopened:
        hosts = (host,)

    vpn = Fake(next(one for one in Fake.variants if one.name == "absent"))
    stage = Tunnels(lambda spec: Unopened())  # type: ignore[arg-type, return-value]
    finding = Execution(vpn, LabSpec(), Count(), Count.Parameters(), stage).execute()
    assert finding.remedy == "culvert hosts install fake --inventory 'my hosts.yml'"
