from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.trial.traffic import Flow, InnerTraffic, add_flows, add_traffic, echo_traffic, turned

sizes = st.integers(64, 1500)
flows = st.builds(
    lambda packets, size, connections: Flow(
        packets, packets * size, size, connections=connections if packets else 0
    ),
    st.integers(0, 10**6),
    sizes,
    st.integers(0, 1000),
)
traffics = st.builds(InnerTraffic, flows, flows, flows, flows)


@given(st.lists(flows))
def test_nothing_is_lost_in_a_sum(parts: list[Flow]) -> None:
    whole = add_flows(*parts)
    assert whole.packets == sum(part.packets for part in parts)
    assert whole.ip_bytes == sum(part.ip_bytes for part in parts)
    assert whole.connections == sum(part.connections for part in parts)
    if whole.length is not None:
        assert whole.ip_bytes == whole.packets * whole.length


@given(sizes)
def test_one_length_is_kept_and_an_empty_flow_does_not_change_it(size: int) -> None:
    assert add_flows(Flow(3, 3 * size, size), Flow(0, 0)).length == size
    assert add_flows(Flow(3, 3 * size, size), Flow(1, size + 1, size + 1)).length is None


@given(traffics)
def test_turned_twice_is_the_same(traffic: InnerTraffic) -> None:
    assert turned(turned(traffic)) == traffic
    assert turned(traffic).b_to_a_sent == traffic.a_to_b_sent
    assert turned(traffic).a_to_b_received == traffic.b_to_a_received


def test_echoes_and_a_stream() -> None:
    echoes = echo_traffic(10, 9, 8, 84)
    stream = InnerTraffic(Flow(5, 5000), Flow(4, 4000), Flow(2, 104, None, 56), Flow(2, 104))
    whole = add_traffic(echoes, stream)
    assert whole.a_to_b_sent == Flow(15, 5840)
    assert whole.a_to_b_received == Flow(13, 4756)
    assert whole.b_to_a_sent == Flow(11, 860, None, 56)
    assert whole.b_to_a_received == Flow(10, 776)
