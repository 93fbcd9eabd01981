"""The IPv4 addresses of pods and services: a cluster may give IPv6 addresses first, or only. Pure.

https://kubernetes.io/docs/concepts/services-networking/dual-stack/
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, ip_address
from typing import Any

from culvert.errors import NotPossible


def of_pod(pod: Any) -> IPv4Address:
    """Of a V1Pod that runs. Raises NotPossible if it has none."""
    status = pod.status
    given = [status.pod_ip, *(one.ip for one in status.pod_ips or ())]
    return _first("pods with IPv6 only", f"pod {pod.metadata.name}", given)


def of_service(service: Any) -> IPv4Address:
    """Of a V1Service with an address in the cluster. Raises NotPossible if it has none."""
    spec = service.spec
    given = [spec.cluster_ip, *(spec.cluster_ips or ())]
    return _first("services with IPv6 only", f"service {service.metadata.name}", given)


def _first(what: str, owner: str, given: Iterable[str | None]) -> IPv4Address:
    words = list(dict.fromkeys(filter(None, given)))
    for word in words:
        address = ip_address(word)
        if isinstance(address, IPv4Address):
            return address
    raise NotPossible(
        what,
        f"{owner} has {', '.join(words) or 'no address'}, and marked packets are of IPv4",
        "use a cluster whose pods and services have IPv4 addresses (IPv4, or both)",
    )
