"""Inventories, as Ansible reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import NotPossible, UsageError
from culvert.labs.hosts.listed.inventory import inventory_of, read_inventory
from culvert.topology.shapes import mesh, pair, star

_YAML = """\
all:
  vars:
    ansible_user: admin
  children:
    gateways:
      hosts:
        hub: {ansible_host: 192.0.2.1, culvert_address: 10.0.0.1}
    clients:
      vars: {culvert_shared_links: uplink}
      hosts:
        laptop: {ansible_port: 2222, ansible_become_password: hunter2}
        phone: {ansible_ssh_common_args: "-J jump -o 'Ciphers=aes128-ctr'"}
"""
_INI = """\
[gateways]
hub ansible_host=192.0.2.1 culvert_address=10.0.0.1

[clients]
laptop ansible_port=2222 ansible_become_password=hunter2
phone ansible_ssh_common_args="-J jump -o 'Ciphers=aes128-ctr'"

[clients:vars]
culvert_shared_links=uplink

[all:vars]
ansible_user=admin
"""


@pytest.mark.parametrize(("name", "text"), [("hosts.yml", _YAML), ("hosts.ini", _INI)])
def test_groups_and_variables_are_ansibles(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    inventory = read_inventory(path, sudo_password="other")
    hosts = {host.name: host for host in inventory.hosts}
    assert set(hosts) == {"hub", "laptop", "phone"}
    assert (hosts["hub"].destination, hosts["hub"].measured) == ("192.0.2.1", "10.0.0.1")
    assert hosts["laptop"].port == 2222
    assert hosts["laptop"].sudo_password == "hunter2"
    assert hosts["hub"].sudo_password == "other"
    assert {host.user for host in inventory.hosts} == {"admin"}
    assert hosts["phone"].arguments == ("-J", "jump", "-o", "Ciphers=aes128-ctr")
    assert hosts["phone"].shared_links == ("uplink",)
    assert "hunter2" not in repr(inventory)
    assigned = {node: host.name for node, host in inventory.assign(star(2)).items()}
    assert assigned["gateway"] == "hub"
    assert {assigned["c1"], assigned["c2"]} == {"laptop", "phone"}


def test_hosts_are_assigned_by_name_then_role_then_order(tmp_path: Path) -> None:
    listed = {
        "all": {"hosts": ["one", "two", "three"]},
        "_meta": {"hostvars": {"three": {"culvert_node": "a"}}},
    }
    inventory = inventory_of(tmp_path, listed)
    assigned = {node: host.name for node, host in inventory.assign(mesh(3)).items()}
    assert assigned == {"a": "three", "b": "one", "c": "two"}


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"ansible_port": "ssh"}, "host b, ansible_port"),
        ({"ansible_port": 70000}, "host b, ansible_port"),
        ({"culvert_address": "fe80::1"}, "host b, culvert_address"),
        ({"ansible_connection": "local"}, "host b, ansible_connection"),
        ({"ansible_host": "a"}, "a and b are the same host"),
        ({"ansible_ssh_common_args": "-o 'x"}, "host b, ansible_ssh_common_args"),
        ({"culvert_shared_links": 7}, "host b, culvert_shared_links"),
    ],
)
def test_errors_are_named(variables: dict[str, object], named: str) -> None:
    listed = {"all": {"hosts": ["a", "b"]}, "_meta": {"hostvars": {"a": {}, "b": variables}}}
    with pytest.raises(UsageError, match=named) as error:
        inventory_of(Path("hosts.yml"), listed)
    assert error.value.remedy


def test_what_ansible_cannot_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hosts.ini"
    path.write_text("[broken\nhost")
    with pytest.raises(UsageError, match="Ansible cannot read it"):
        read_inventory(path)
    with pytest.raises(UsageError, match="no host"):
        inventory_of(path, {"all": {}})


def test_too_few_hosts_are_named_with_the_node(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match=r"none is left for b \(member\)"):
        inventory_of(tmp_path, {"all": {"hosts": ["one"]}}).assign(pair())
    with pytest.raises(UsageError, match="does not exist"):
        read_inventory(tmp_path / "none.yml")


def test_the_largest_number_of_clients_with_hosts_is_stated(tmp_path: Path) -> None:
    three = {"hosts": ["one", "two", "three"]}

    def refused(clients: int, listed: dict[str, object]) -> NotPossible:
        with pytest.raises(NotPossible) as error:
            inventory_of(tmp_path, listed).assign(star(clients))
        return error.value

    many = refused(32, {"all": three})
    assert many.why.endswith("c4 (client) and c5 (client) and c6 (client) and 27 more")
    assert many.remedy.startswith("add hosts, or use at most 2 clients (also in [lab]);")
    assert "use at most 2 clients" in refused(3, {"all": three}).remedy
    no_gateway = refused(3, {"all": {"children": ["clients"]}, "clients": three})
    assert no_gateway.why.endswith("none is left for gateway")
    assert "leave out VPNs" in no_gateway.remedy
