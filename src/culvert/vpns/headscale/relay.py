"""derper, Tailscale's relay, on the node ``relay``: its certificate, its arguments, and the map by
which members find and trust it.

Members trust the certificate by its hash in the map (``certname: sha256-raw:...``), as the map that
derper itself prints for an address without a name. Source: cmd/derper and tailcfg/derpmap.go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from ssl import PEM_cert_to_DER_cert

from culvert.topology.ip import Address, IpVersion
from culvert.vpns.authoring import Node, Process, endpoint, listens, underlay_address, uri_host
from culvert.vpns.headscale.variants import Ports
from culvert.vpns.parts.pki import Authority, CertificateUsage, Credential, KeyKind

DERPER = "derper"
REGION = 900
"""Regions from 900 on are private by Tailscale's convention."""
CODE = "lab"


@dataclass(frozen=True)
class Relay:
    """derper on one node; ``credential`` None: plain HTTP."""

    node: Node
    address: Address
    credential: Credential | None
    ports: Ports
    program: str = DERPER

    @classmethod
    def new(cls, node: Node, *, tls: bool, ports: Ports, now: datetime | None = None) -> Relay:
        """With a certificate of its own, valid from ``now`` on."""
        address = underlay_address(node)
        if not tls:
            return cls(node, address, None, ports)
        authority = Authority(KeyKind.SECP384R1, now=now)
        credential = authority.issue(str(address), CertificateUsage.SERVER)
        return cls(node, address, credential, ports)

    def write(self) -> None:
        """Its certificate and key, by the names that derper looks for."""
        if self.credential is not None:
            # derper looks for its host's name without colons (cmd/derper/cert.go).
            name = f"{DERPER}/{str(self.address).replace(':', '')}"
            self.node.write(f"{name}.crt", self.credential.certificate)
            self.node.write(f"{name}.key", self.credential.key, secret=True)

    @property
    def arguments(self) -> Sequence[str]:
        """For the foreground; it keeps its own key in the node's directory."""
        directory = self.node.directory / DERPER
        words = ["-c", f"{directory}/derper.json", "-a", endpoint(self.address, self.ports.relay)]
        words += ["-http-port", "-1", "-stun-port", str(self.ports.stun)]
        words += ["-hostname", str(self.address)]
        if self.credential is not None:
            words += ["-certmode", "manual", "-certdir", str(directory)]
        return words

    def ready(self, process: Process) -> bool:
        return listens(self.node, process.pid, self.ports.relay)

    def map(self, *, measured: bool) -> str:
        """The DERP map as Headscale reads it: YAML, whose keys of regions are numbers.

        Not ``measured``: members take the only region there is. Otherwise each waits for STUN, and
        without UDP for 3 s (stunProbeTimeout in net/netcheck).
        """
        addresses = {f"ipv{version.value}": "none" for version in IpVersion}
        addresses[f"ipv{self.address.version}"] = str(self.address)
        node: dict[str, object] = {
            "name": f"{REGION}a",
            "regionid": REGION,
            "hostname": uri_host(self.address),
            **addresses,
            "stunport": self.ports.stun,
            "derpport": self.ports.relay,
        }
        if self.credential is not None:
            der = PEM_cert_to_DER_cert(self.credential.certificate.decode())
            node["certname"] = f"sha256-raw:{sha256(der).hexdigest()}"
        region = {
            "regionid": REGION,
            "regioncode": CODE,
            "regionname": CODE,
            "nomeasurenohome": not measured,
            "nodes": [node],
        }
        return f"regions:\n  {REGION}: {json.dumps(region)}\n"
