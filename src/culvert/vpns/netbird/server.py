"""NetBird's control server: its configuration, requests to it, and a policy as its rules between
groups, one group for each member.

A new account has one policy, which permits everything; its rules are replaced. Members between
which no rule is do not connect to each other. Sources: combined/config.yaml.example of NetBird 0.76
for the configuration; https://docs.netbird.io/api for the requests.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from culvert.topology.ip import Address
from culvert.vpns.authoring import SEE_LOG, Node, Permit, Policy, VpnError, endpoint
from culvert.vpns.netbird.variants import Ports
from culvert.vpns.parts.http import request

ENVIRONMENT = {"NB_DISABLE_GEOLOCATION": "true", "NB_SETUP_PAT_ENABLED": "true"}
"""It must not download a database, and may be set up by a request."""
_DAY_S = 86400
OTHER_VERSION = "use NetBird's server of version 0.75 to 0.80"


def url_of(control: Address, ports: Ports) -> str:
    """Where members and requests find the server."""
    return f"http://{endpoint(control, ports.control)}"


def configuration(
    control: Address, relay: Address, relay_secret: str, directory: str, ports: Ports
) -> str:
    """The server's configuration with new secrets: management and signal in it, STUN and the relay
    on a node of their own. YAML contains JSON."""
    url = url_of(control, ports)
    settings = {
        "listenAddress": f":{ports.control}",
        "exposedAddress": url,
        "metricsPort": ports.metrics,
        "healthcheckAddress": f"127.0.0.1:{ports.health}",
        "logFile": "console",
        "authSecret": secrets.token_hex(16),
        "dataDir": directory,
        "disableAnonymousMetrics": True,
        "disableGeoliteUpdate": True,
        "auth": {"issuer": f"{url}/oauth2"},
        "store": {
            "engine": "sqlite",
            "encryptionKey": base64.b64encode(secrets.token_bytes(32)).decode(),
        },
        "stuns": [{"uri": f"stun:{endpoint(relay, ports.stun)}"}],
        "relays": {
            "addresses": [f"rel://{endpoint(relay, ports.relay)}"],
            "credentialsTTL": "24h",
            "secret": relay_secret,
        },
    }
    return json.dumps({"server": settings}, indent=1)


def relay_environment(relay: Address, secret: str, ports: Ports) -> Mapping[str, str]:
    """The relay's settings. It has its secret from its environment or its arguments, never from a
    file."""
    return {
        "NB_LISTEN_ADDRESS": endpoint(relay, ports.relay),
        "NB_EXPOSED_ADDRESS": f"rel://{endpoint(relay, ports.relay)}",
        "NB_AUTH_SECRET": secret,
        "NB_HEALTH_LISTEN_ADDRESS": f"127.0.0.1:{ports.health}",
        "NB_METRICS_PORT": str(ports.metrics),
        "NB_ENABLE_STUN": "true",
        "NB_STUN_PORTS": str(ports.stun),
    }


@dataclass(frozen=True)
class Account:
    """The account of a control server, which has all members. Methods raise VpnError if the server
    refuses, or answers in another form."""

    server: Node
    url: str
    token: str = field(repr=False)
    """A personal access token of its owner."""

    @classmethod
    def create(cls, server: Node, url: str, network: IPv4Network) -> Account:
        """That of a new server, whose members get addresses of this network. By default it is a
        random one, to which a node without the VPN has a route."""
        owner = {"email": "lab@lab.internal", "password": f"Aa1-{secrets.token_urlsafe(16)}"}
        made = request(server, f"{url}/api/setup", {**owner, "name": "lab", "create_pat": True})
        account = cls(server, url, text_of(made, "personal_access_token", url))
        (found,) = account.listed("accounts", "settings")[:1] or [{}]
        settings = found.get("settings")
        if not isinstance(settings, dict):
            raise VpnError(url, "its answer has no account", OTHER_VERSION)
        changed = {"settings": {**settings, "network_range": str(network)}}
        account.put(f"accounts/{text_of(found, 'id', url)}", changed)
        return account

    def new_setup_key(self) -> str:
        """A key with which any number of members join."""
        key = {"name": "lab", "type": "reusable", "expires_in": _DAY_S, "usage_limit": 0}
        return text_of(self.make("setup-keys", {**key, "auto_groups": []}), "key", self.url)

    def listed(self, what: str, *keys: str) -> list[dict[str, Any]]:
        """All of a kind; each has an ``id`` and these keys."""
        answer = request(self.server, f"{self.url}/api/{what}", headers=self._headers)
        found: list[Any] = answer if isinstance(answer, list) else [None]
        if not all(isinstance(each, dict) and {"id", *keys} <= each.keys() for each in found):
            raise VpnError(self.url, f"its answer has no {what}", OTHER_VERSION)
        return found

    def make(self, what: str, body: Mapping[str, object]) -> Any:
        return request(self.server, f"{self.url}/api/{what}", body, self._headers)

    def put(self, what: str, body: Mapping[str, object]) -> None:
        request(self.server, f"{self.url}/api/{what}", body, self._headers, method="PUT")

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Token {self.token}"}


def text_of(answer: object, key: str, url: str) -> str:
    """A text in an answer; raises VpnError if it has none."""
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, str) or not value:
        raise VpnError(url, f"its answer has no {key}", OTHER_VERSION)
    return value


_EVERYBODY = "All"
"""The group that each account has."""


class Rules:
    """Those of an account; ``addresses`` are the inner addresses of members, by name."""

    def __init__(self, account: Account, addresses: Mapping[str, IPv4Address]) -> None:
        self._account = account
        self._policy = next(iter(account.listed("policies", "name")), {})
        self._groups = {each["name"]: each["id"] for each in account.listed("groups", "name")}
        peers = {each["ip"]: each["id"] for each in account.listed("peers", "ip")}
        for name, address in addresses.items():
            if str(address) not in peers:
                raise VpnError(account.url, f"has no peer {address} (node {name})", SEE_LOG)
            group = account.make(
                "groups", {"name": _group_of(name), "peers": [peers[str(address)]]}
            )
            self._groups[_group_of(name)] = text_of(group, "id", account.url)

    def apply(self, policy: Policy) -> None:
        """Replace them. NetBird accepts no policy without a rule: it is disabled then."""
        permitted = [self._permit(each) for each in policy.permits]
        rules = permitted if permitted and not policy.everything else [self._everything()]
        enabled = policy.everything or bool(permitted)
        body = {"name": self._policy.get("name"), "enabled": enabled, "rules": rules}
        place = text_of(self._policy, "id", self._account.url)
        self._account.put(f"policies/{place}", body)

    def _permit(self, permit: Permit) -> dict[str, object]:
        ports = {} if permit.port is None else {"ports": [str(permit.port)]}
        ends = (_group_of(permit.source), _group_of(permit.target))
        return self._rule(ends, permit.protocol.value, both_ways=False) | ports

    def _everything(self) -> dict[str, object]:
        return self._rule((_EVERYBODY, _EVERYBODY), "all", both_ways=True)

    def _rule(self, ends: tuple[str, str], protocol: str, *, both_ways: bool) -> dict[str, object]:
        if lacking := [each for each in ends if each not in self._groups]:
            raise VpnError(self._account.url, f"has no group {lacking[0]!r}", OTHER_VERSION)
        source, target = (self._groups[each] for each in ends)
        return {
            "name": f"{' to '.join(ends)}, {protocol}",
            "enabled": True,
            "action": "accept",
            "bidirectional": both_ways,
            "protocol": protocol,
            "sources": [source],
            "destinations": [target],
        }


def _group_of(member: str) -> str:
    return f"member {member}"
