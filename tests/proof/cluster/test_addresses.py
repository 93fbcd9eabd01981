"""The addresses of a node."""

from __future__ import annotations

from ipaddress import IPv4Address

from culvert.proof.cluster.devices import MOST_ADDRESSES, local_addresses

TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
           |-- 127.0.0.0
              /8 host LOCAL
           |-- 127.0.0.1
              /32 host LOCAL
           |-- 192.0.2.0
              /24 link UNICAST
           |-- 192.0.2.2
              /32 host LOCAL
        |-- 192.0.2.255
           /32 link BROADCAST
Local:
           |-- 192.0.2.2
              /32 host LOCAL
           |-- 10.244.1.0
              /32 host LOCAL
"""


def test_local_addresses_are_the_nodes_own_each_once() -> None:
    assert local_addresses(TRIE) == [IPv4Address("192.0.2.2"), IPv4Address("10.244.1.0")]


def test_addresses_of_all_services_are_too_many() -> None:
    services = "".join(
        f"   |-- 10.96.0.{number}\n      /32 host LOCAL\n" for number in range(MOST_ADDRESSES)
    )
    assert local_addresses(services)
    assert local_addresses(TRIE + services) == []
