"""Headscale, the control server, on the node ``control``: configuration, policy and commands.

Source: config-example.yaml of Headscale, https://headscale.net/stable/ref/acls/. JSON is YAML and
HuJSON too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

from culvert.json_text import read_json
from culvert.vpns.authoring import (
    SEE_LOG,
    Node,
    Permit,
    Policy,
    Process,
    VpnError,
    accepts,
    endpoint,
    underlay_address,
)
from culvert.vpns.headscale.variants import Ports

HEADSCALE = "headscale"
ADDRESSES = IPv4Network("100.64.0.0/10")
"""Of members: clients accept no others (RFC 6598, and tsaddr.CGNATRange of tailscale.com)."""
IPV6_ADDRESSES = IPv6Network("fd7a:115c:a1e0::/48")
"""Further ones, where all members may have them (tsaddr.TailscaleULARange)."""
_NO_IPV6 = "net.ipv6.conf.default.disable_ipv6"
CHANGES_KEPT = 4096
"""Changes that may wait for a member. By default 30: a member that does not take them within 50 ms
after that, as when many join at once, is sent none ever again (hscontrol/mapper of 0.27.1)."""
_USER = "culvert"
_EVERYTHING = {"action": "accept", "src": ["*"], "dst": ["*:*"]}


def networks(members: Iterable[Node]) -> Mapping[str, str]:
    """The members' networks by family: IPv6 only if new devices of all of them may have it."""
    found = {"v4": str(ADDRESSES)}
    sysctl = [(node, node.require("sysctl", "install procps")) for node in members]
    shown = [node.run([program, "-n", _NO_IPV6], check=False).stdout for node, program in sysctl]
    return {**found, "v6": str(IPV6_ADDRESSES)} if {*map(str.strip, shown)} == {"0"} else found


class Control:
    """Headscale on one node; ``key_lifetime`` is that of the keys with which members register,
    ``networks`` are those of their addresses, ``behind`` those behind a member, which it may
    route."""

    program = HEADSCALE

    def __init__(
        self,
        node: Node,
        key_lifetime: str,
        networks: Mapping[str, str],
        ports: Ports,
        behind: Sequence[IPv4Network] = (),
    ) -> None:
        self.node = node
        self._behind = behind
        self._ports = ports
        self._networks = networks
        self._key_lifetime = key_lifetime
        self._directory = node.directory / HEADSCALE
        self._config = str(self._directory / "config.yaml")
        self._socket = str(self._directory / "headscale.sock")
        self._endpoint = endpoint(underlay_address(node), ports.control)
        self.url = f"http://{self._endpoint}"

    def write(self, relay_map: str) -> None:
        """Configuration, the map of relays, the open policy; and an empty database that no other
        user may read, because Headscale keeps the members' keys in it."""
        self.node.write(f"{HEADSCALE}/config.yaml", json.dumps(self._settings(), indent=1))
        self.node.write(f"{HEADSCALE}/derp.yaml", relay_map)
        self.node.write(f"{HEADSCALE}/db.sqlite", "", secret=True)
        self.write_policy(Policy(everything=True), {})

    def write_policy(self, policy: Policy, addresses: Mapping[str, IPv4Address]) -> None:
        """Headscale reads it at its start and on SIGHUP; ``addresses`` are the inner addresses of
        members, by name."""
        self.node.write(f"{HEADSCALE}/acl.json", as_acls(policy, addresses, self._behind))

    @property
    def arguments(self) -> Sequence[str]:
        return ("-c", self._config, "serve")

    def ready(self, process: Process) -> bool:
        del process
        return accepts(self.node, self._socket)

    def new_key(self) -> str:
        """A key with which any number of members may register."""
        self._run("users", "create", _USER)
        words = ["preauthkeys", "create", "--user", "1", "--reusable"]
        answer = self._run(*words, "--expiration", self._key_lifetime, "-o", "json")
        return str(read_json(answer)["key"])

    def _run(self, *words: str) -> str:
        program = self.node.require(HEADSCALE, "culvert install headscale")
        done = self.node.run([program, "-c", self._config, *words], check=False)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()[-3:]
            raise VpnError(f"headscale {words[0]} {words[1]}", " / ".join(lines), SEE_LOG)
        return done.stdout

    def _settings(self) -> Mapping[str, Any]:
        return {
            "server_url": self.url,
            "listen_addr": self._endpoint,
            "metrics_listen_addr": f"127.0.0.1:{self._ports.metrics}",
            "grpc_listen_addr": f"127.0.0.1:{self._ports.remote}",
            "noise": {"private_key_path": f"{self._directory}/noise.key"},
            "prefixes": {**self._networks, "allocation": "sequential"},
            "derp": {
                "server": {"enabled": False},
                "urls": [],
                "paths": [f"{self._directory}/derp.yaml"],
                "auto_update_enabled": False,
            },
            "disable_check_updates": True,
            "database": {"type": "sqlite", "sqlite": {"path": f"{self._directory}/db.sqlite"}},
            "policy": {"mode": "file", "path": f"{self._directory}/acl.json"},
            "dns": {
                "magic_dns": False,
                "override_local_dns": False,
                "base_domain": "culvert.internal",
            },
            "unix_socket": self._socket,
            "unix_socket_permission": "0700",
            "logtail": {"enabled": False},
            "tuning": {"node_mapsession_buffered_chan_size": CHANGES_KEPT},
        }


def as_acls(
    policy: Policy, addresses: Mapping[str, IPv4Address], behind: Sequence[IPv4Network] = ()
) -> str:
    """A policy in Headscale's form: rules by the members' addresses. What no rule accepts is
    dropped, but members answer pings of whoever may send them anything. Routes to the networks
    ``behind`` a member, and to everything, are approved as soon as it has them."""
    rules = [_rule(permit, addresses) for permit in policy.permits]
    members = [f"{_USER}@"]
    approvers = {"routes": {str(each): members for each in behind}, "exitNode": members}
    acls = [_EVERYTHING] if policy.everything else rules
    return json.dumps({"acls": acls, "autoApprovers": approvers})


def _rule(permit: Permit, addresses: Mapping[str, IPv4Address]) -> dict[str, object]:
    port = "*" if permit.port is None else permit.port
    return {
        "action": "accept",
        "proto": permit.protocol.value,
        "src": [f"{addresses[permit.source]}/32"],
        "dst": [f"{addresses[permit.target]}/32:{port}"],
    }
