"""The IPv4 addresses of pods and services."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.pods.node import PodAddress, address_of_pod, address_of_service

client = pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'").client


def pod(*given: str) -> object:
    """As a cluster reports one: the first address is also the pod's only one."""
    ips = [client.V1PodIP(ip=word) for word in given]
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name="web", namespace="default"),
        spec=client.V1PodSpec(containers=[], host_network=None),
        status=client.V1PodStatus(pod_ip=given[0] if given else None, pod_ips=ips or None),
    )


def service(*given: str) -> object:
    return client.V1Service(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1ServiceSpec(
            cluster_ip=given[0] if given else None, cluster_ips=list(given) or None
        ),
    )


@pytest.mark.parametrize("given", [["10.1.2.3"], ["10.1.2.3", "fd00::1"], ["fd00::1", "10.1.2.3"]])
def test_the_ipv4_address_is_taken_wherever_it_is(given: list[str]) -> None:
    assert address_of_pod(pod(*given)) == IPv4Address("10.1.2.3")
    assert address_of_service(service(*given)) == IPv4Address("10.1.2.3")
    where = PodAddress.of(pod(*given))
    assert (where.address, where.pod, where.host_network) == (IPv4Address("10.1.2.3"), "web", False)


def test_an_old_server_lists_no_addresses() -> None:
    old = pod("10.1.2.3")
    old.status.pod_ips = None  # type: ignore[attr-defined]
    assert address_of_pod(old) == IPv4Address("10.1.2.3")


def test_ipv6_only_is_not_possible_and_says_so() -> None:
    with pytest.raises(NotPossible, match=r"pods with IPv6 only: pod web has fd00::1") as error:
        address_of_pod(pod("fd00::1"))
    assert "IPv4" in error.value.remedy
    with pytest.raises(NotPossible, match=r"services with IPv6 only: service web has fd00::2"):
        address_of_service(service("fd00::2"))
    with pytest.raises(NotPossible, match="no address"):
        address_of_service(service())
