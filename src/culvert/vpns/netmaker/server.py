"""Netmaker's control server: a broker, the server, and TLS in front of it.

Source: https://docs.netmaker.io/docs/server-installation, and scripts/netmaker.default.env of
Netmaker 1.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from culvert.topology.ip import Address
from culvert.vpns.authoring import Node, VpnError, endpoint
from culvert.vpns.netmaker.variants import Ports
from culvert.vpns.parts.http import request

USER = "netmaker"
_NETWORK = "lab"


@dataclass(frozen=True)
class Account:
    """Secrets of one server: its master key, and the broker's password."""

    master_key: str
    broker_password: str

    def configuration(self) -> str:
        """The server's file. YAML contains JSON."""
        own = {"masterkey": self.master_key, "mqusername": USER, "mqpassword": self.broker_password}
        return json.dumps({"server": own})

    def passwords(self) -> str:
        """The broker's file, before mosquitto_passwd replaces the password by its hash."""
        return f"{USER}:{self.broker_password}\n"


def broker_configuration(control: Address, directory: str, ports: Ports) -> str:
    """For mosquitto: plain MQTT with a password."""
    return (
        f"listener {ports.broker} {control}\n"
        "allow_anonymous false\n"
        f"password_file {directory}/passwords\n"
        "user root\n"  # it reads a file of mode 0600
    )


def environment(control: Address, ports: Ports) -> Mapping[str, str]:
    """The server's settings without secrets. Nothing outside the lab is queried."""
    api = endpoint(control, ports.tls)
    broker = f"mqtt://{endpoint(control, ports.broker)}"
    return {
        "SERVER_NAME": _NETWORK,
        "NM_DOMAIN": _NETWORK,
        "SERVER_HOST": str(control),
        "SERVER_HTTP_HOST": api,  # as tokens have it
        "SERVER_API_CONN_STRING": api,
        "API_PORT": str(ports.api),
        "NODE_ID": _NETWORK,
        "DATABASE": "sqlite",
        "DNS_MODE": "off",
        "MANAGE_DNS": "false",
        "BROKER_TYPE": "mosquitto",
        "BROKER_ENDPOINT": broker,
        "SERVER_BROKER_ENDPOINT": broker,
        "STUN": "false",
        "TELEMETRY": "off",
        "DISPLAY_KEYS": "on",
        "DISABLE_REMOTE_IP_CHECK": "on",
        "NETCLIENT_AUTO_UPDATE": "disabled",
        "PUBLIC_IP_SERVICE": f"http://{endpoint(control, ports.api)}/api/getip",
    }


def is_ready(server: Node, url: str) -> bool:
    """Whether it has its database and its broker."""
    try:
        state = request(server, f"{url}/api/server/status")
    except VpnError:
        return False
    return isinstance(state, dict) and bool(
        state.get("db_connected") and state.get("broker_connected")
    )


def new_token(server: Node, url: str, account: Account, subnet: str, members: int) -> str:
    """Create the network, and a token with which that many members join.

    Raises VpnError if the server refuses, or answers in another form.
    """
    admin = {"Authorization": f"Bearer {account.master_key}"}
    network = {"netid": _NETWORK, "addressrange": subnet}
    request(server, f"{url}/api/networks", network, admin)
    key = {"networks": [_NETWORK], "uses_remaining": members, "tags": ["members"], "type": 2}
    made = request(server, f"{url}/api/v1/enrollment-keys", key, admin)
    token = made.get("token") if isinstance(made, dict) else None
    if not isinstance(token, str) or not token:
        raise VpnError(url, "its answer has no token", "use Netmaker 1.4")
    return token
