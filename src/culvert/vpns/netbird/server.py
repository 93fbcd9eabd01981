"""NetBird's control server: its configuration, and the keys with which members join.

Sources: combined/config.yaml.example of NetBird 0.76 for the configuration;
https://docs.netbird.io/api for the requests.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network

from culvert.errors import VpnError
from culvert.labs.node import Node
from culvert.vpns.http import request

PORT = 8080
RELAY_PORT = 33080
STUN_PORT = 3478
RELAY_HEALTH = "http://127.0.0.1:9000/health"
ENVIRONMENT = {"NB_DISABLE_GEOLOCATION": "true", "NB_SETUP_PAT_ENABLED": "true"}
"""It must not download a database, and may be set up by a request."""
_DAY_S = 86400
_OTHER_VERSION = "use NetBird's server of version 0.75 to 0.80"


def url_of(control: IPv4Address) -> str:
    """Where members and requests find the server."""
    return f"http://{control}:{PORT}"


def configuration(
    control: IPv4Address, relay: IPv4Address, relay_secret: str, directory: str
) -> str:
    """The server's configuration with new secrets: management and signal in it, STUN and the relay
    on a node of their own. YAML contains JSON."""
    settings = {
        "listenAddress": f":{PORT}",
        "exposedAddress": url_of(control),
        "metricsPort": 9090,
        "healthcheckAddress": "127.0.0.1:9000",
        "logFile": "console",
        "authSecret": secrets.token_hex(16),
        "dataDir": directory,
        "disableAnonymousMetrics": True,
        "disableGeoliteUpdate": True,
        "auth": {"issuer": f"{url_of(control)}/oauth2"},
        "store": {
            "engine": "sqlite",
            "encryptionKey": base64.b64encode(secrets.token_bytes(32)).decode(),
        },
        "stuns": [{"uri": f"stun:{relay}:{STUN_PORT}"}],
        "relays": {
            "addresses": [f"rel://{relay}:{RELAY_PORT}"],
            "credentialsTTL": "24h",
            "secret": relay_secret,
        },
    }
    return json.dumps({"server": settings}, indent=1)


def relay_environment(relay: IPv4Address, secret: str) -> Mapping[str, str]:
    """The relay's settings. It has its secret from its environment or its arguments, never from a
    file."""
    return {
        "NB_LISTEN_ADDRESS": f"{relay}:{RELAY_PORT}",
        "NB_EXPOSED_ADDRESS": f"rel://{relay}:{RELAY_PORT}",
        "NB_AUTH_SECRET": secret,
        "NB_HEALTH_LISTEN_ADDRESS": "127.0.0.1:9000",
        "NB_ENABLE_STUN": "true",
    }


def new_setup_key(server: Node, url: str, network: IPv4Network) -> str:
    """Create the account of a new server, whose members get addresses of this network, and a key
    with which any number of members join.

    Raises VpnError if the server refuses, or answers in another form.
    """
    owner = {"email": "lab@lab.internal", "password": f"Aa1-{secrets.token_urlsafe(16)}"}
    made = request(server, f"{url}/api/setup", {**owner, "name": "lab", "create_pat": True})
    admin = {"Authorization": f"Token {_text(made, 'personal_access_token', url)}"}
    _set_network(server, url, admin, network)
    key = {"name": "lab", "type": "reusable", "expires_in": _DAY_S, "usage_limit": 0}
    made = request(server, f"{url}/api/setup-keys", {**key, "auto_groups": []}, admin)
    return _text(made, "key", url)


def _set_network(server: Node, url: str, admin: Mapping[str, str], network: IPv4Network) -> None:
    """By default it is a random one, to which a node without the VPN has a route."""
    accounts = request(server, f"{url}/api/accounts", headers=admin)
    account = accounts[0] if isinstance(accounts, list) and accounts else None
    settings = account.get("settings") if isinstance(account, dict) else None
    if not isinstance(settings, dict):
        raise VpnError(url, "its answer has no account", _OTHER_VERSION)
    changed = {"settings": {**settings, "network_range": str(network)}}
    path = f"{url}/api/accounts/{_text(account, 'id', url)}"
    request(server, path, changed, admin, method="PUT")


def _text(answer: object, key: str, url: str) -> str:
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, str) or not value:
        raise VpnError(url, f"its answer has no {key}", _OTHER_VERSION)
    return value
