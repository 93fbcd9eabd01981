"""Netmaker without its programs: configuration and tokens, each with damaged input."""

from __future__ import annotations

import json
from ipaddress import IPv4Address

import pytest

from culvert.errors import VpnError
from culvert.vpns.netmaker.server import (
    Account,
    broker_configuration,
    environment,
    is_ready,
    new_token,
)
from culvert.vpns.netmaker.variants import Ports

from .fake_node import Runs, node_that_prints

CONTROL = IPv4Address("198.18.4.2")
URL = "http://198.18.4.2:8081"
ACCOUNT = Account("m4ster", "br0ker")


def test_secrets_are_in_files_and_not_in_the_environment() -> None:
    assert json.loads(ACCOUNT.configuration())["server"] == {
        "masterkey": "m4ster",
        "mqusername": "netmaker",
        "mqpassword": "br0ker",
    }
    assert ACCOUNT.passwords() == "netmaker:br0ker\n"
    assert not {"m4ster", "br0ker"} & set(environment(CONTROL, Ports()).values())
    broker = broker_configuration(CONTROL, "/d", Ports()).splitlines()
    assert "listener 1883 198.18.4.2" in broker
    assert "allow_anonymous false" in broker


def test_server_and_broker_have_the_chosen_ports() -> None:
    ports = Ports(51822, 8082, 1884, 444)
    assert "listener 1884 198.18.4.2" in broker_configuration(CONTROL, "/d", ports).splitlines()
    settings = environment(CONTROL, ports)
    assert settings["API_PORT"] == "8082"
    assert settings["SERVER_HTTP_HOST"] == settings["SERVER_API_CONN_STRING"] == "198.18.4.2:444"
    assert settings["BROKER_ENDPOINT"] == "mqtt://198.18.4.2:1884"
    assert settings["PUBLIC_IP_SERVICE"] == "http://198.18.4.2:8082/api/getip"


@pytest.mark.parametrize(
    ("state", "ready"),
    [
        ('{"db_connected": true, "broker_connected": true}', True),
        ('{"db_connected": true, "broker_connected": false}', False),
        ('{"db_connected": true}', False),
        ("[]", False),
        ("<html>", False),
    ],
)
def test_the_server_is_ready_with_database_and_broker(state: str, ready: bool) -> None:
    assert is_ready(node_that_prints(state), URL) is ready


def test_a_token_is_for_as_many_members_as_join() -> None:
    runs: Runs = []
    node = node_that_prints("{}", '{"token": "TOKEN"}', runs=runs)
    assert new_token(node, URL, ACCOUNT, "198.19.0.0/24", 3) == "TOKEN"
    assert all('header = "Authorization: Bearer m4ster"' in stdin for _, stdin in runs)
    assert not any("m4ster" in word for argv, _ in runs for word in argv)
    assert '\\"uses_remaining\\": 3' in runs[1][1]


@pytest.mark.parametrize("made", ["{}", "null", '{"token": 1}', '{"token": ""}'])
def test_an_answer_without_a_token_is_an_error(made: str) -> None:
    with pytest.raises(VpnError, match="has no token"):
        new_token(node_that_prints(made), URL, ACCOUNT, "198.19.0.0/24", 3)
