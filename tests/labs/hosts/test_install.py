"""VPNs are installed on hosts by Ansible; a second time nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.install.on_hosts import playbook_lines
from culvert.labs.hosts.demo import DemoHosts
from tests.cli import Cli


def test_lines_of_a_role_are_counted_without_comments(tmp_path: Path) -> None:
    tasks = tmp_path / "role/tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text("---\n# why\n- name: One\n\n  ping:\n")
    assert playbook_lines("role", [tmp_path]) == 2
    assert playbook_lines("none", [tmp_path]) == 0


@pytest.mark.lab
@pytest.mark.vpn
def test_what_is_installed_is_not_changed(say: Cli, demo: DemoHosts) -> None:
    told = say("hosts", "install", "wireguard/go", "--inventory", demo.inventory, "--json")
    (found,) = json.loads(told.out)
    assert told.code == 0, found
    assert [host["host"] for host in found["hosts"]] == ["a", "b"]
    assert all(host["ok"] and not host["changed"] for host in found["hosts"])
    assert found["playbook_lines"] > 5
