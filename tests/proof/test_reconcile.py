import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.proof.reconcile import NONE, LinkCount, cost_bounds, on_the_wire, reconcile
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.trial.traffic import Flow
from culvert.vpns.variant import Carried

ETHERNET_MTU = 1500


def wireguard(inner: int) -> int:
    """20 IP + 8 UDP + 16 header + padding to 16 + 16 tag."""
    return 60 + -(-inner // 16) * 16


def judge(
    sent: Flow,
    received: Flow,
    link_bytes: int,
    *,
    super_packets: bool = False,
    to_control: LinkCount = NONE,
    unsure_bytes: int = 0,
) -> bool:
    return reconcile(
        "a to b",
        sent=sent,
        received=received,
        link=LinkCount(received.packets, link_bytes, unsure_bytes=unsure_bytes),
        outer_length=wireguard,
        inner_mtu=1420,
        ethernet_mtu=ETHERNET_MTU,
        super_packets=super_packets,
        to_control=to_control,
    ).passed


@given(st.integers(1, 10**6), st.integers(64, 1420))
def test_exact_count_reconciles(packets: int, length: int) -> None:
    flow = Flow(packets, packets * length, length)
    outer = wireguard(length)
    assert judge(flow, flow, packets * outer)


@given(st.integers(1000, 10**6), st.integers(64, 1420), st.integers(0, 20_000))
def test_what_may_be_another_connections_is_a_bound(
    packets: int, length: int, unsure_bytes: int
) -> None:
    flow = Flow(packets, packets * length, length)
    exact = packets * wireguard(length)
    for missing in (0, unsure_bytes // 2, unsure_bytes):
        assert judge(flow, flow, exact - missing, unsure_bytes=unsure_bytes)
    assert not judge(flow, flow, exact * 8 // 10 - unsure_bytes, unsure_bytes=unsure_bytes)
    assert not judge(flow, flow, exact * 12 // 10, unsure_bytes=unsure_bytes)


@given(st.integers(1000, 10**6), st.integers(64, 1420))
def test_traffic_in_the_clear_does_not(packets: int, length: int) -> None:
    flow = Flow(packets, packets * length, length)
    assert not judge(flow, flow, packets * length)


@pytest.mark.parametrize(
    ("link_bytes", "remedy"),
    [(1_000_000, "switch compression off"), (2_000_000, "find other traffic on the link")],
)
def test_too_few_and_too_many_bytes_have_remedies_of_their_own(
    link_bytes: int, remedy: str
) -> None:
    flow = Flow(1000, 1_400_000, 1400)
    check = reconcile(
        "a to b",
        sent=flow,
        received=flow,
        link=LinkCount(1000, link_bytes),
        outer_length=lambda _: None,
        inner_mtu=1420,
        ethernet_mtu=ETHERNET_MTU,
        super_packets=False,
    )
    assert not check.passed
    assert check.remedy.startswith(remedy)


@given(st.integers(1000, 10**6), st.integers(64, 1420), st.floats(0.05, 1.0))
def test_a_share_beside_the_tunnel_does_not(packets: int, length: int, share: float) -> None:
    flow = Flow(packets, packets * length, length)
    outer = wireguard(length)
    seen_through_tunnel = int(packets * (1 - share)) * outer
    assert not judge(flow, flow, seen_through_tunnel)


@given(st.integers(1000, 10**6), st.integers(0, 1000))
def test_loss_before_the_link_is_allowed(sent: int, per_mille_lost: int) -> None:
    received = sent - sent * per_mille_lost // 1000
    on_link = (sent + received) // 2
    outer = wireguard(512)
    assert judge(Flow(sent, sent * 512, 512), Flow(received, received * 512, 512), on_link * outer)


def test_more_than_was_sent_is_refused() -> None:
    flow = Flow(10_000, 10_000 * 512, 512)
    outer = wireguard(512)
    assert not judge(flow, flow, 11_000 * outer)


@given(st.integers(20, 1000), st.integers(5000, 10**6))
def test_what_the_control_server_received_may_be_beside(packets: int, control_bytes: int) -> None:
    flow = Flow(packets, packets * 84, 84)
    counted = packets * wireguard(84) + control_bytes
    control = LinkCount.of_frames(10, control_bytes + 140, "the control servers")
    assert control.ip_bytes == control_bytes
    assert judge(flow, flow, counted, to_control=control)
    as_much_again = counted + control_bytes + 20 * wireguard(84)
    assert not judge(flow, flow, as_much_again, to_control=control)


def test_nothing_sent_and_nothing_counted_reconcile_but_a_stranger_does_not() -> None:
    nothing = Flow(0, 0)
    assert judge(nothing, nothing, 0)
    assert not judge(nothing, nothing, 1_000_000)


def test_mixed_lengths_are_bounded_by_the_padding() -> None:
    flow = Flow(1000, 1000 * 1420)
    low, high = cost_bounds(flow, wireguard, 1420, ETHERNET_MTU)
    exact = wireguard(1420)
    assert low <= 1000 * exact <= high
    assert high - low <= 1000 * 15


def test_super_packets_are_bounded_only() -> None:
    flow = Flow(1000, 1000 * 1420)
    headers_once = 1000 * 1420
    assert judge(flow, flow, headers_once, super_packets=True)
    assert not judge(flow, flow, headers_once * 2, super_packets=True)


def judge_stream(
    flow: Flow,
    link: LinkCount,
    own_bytes: int = 0,
    carries: Carried = Carried.PACKETS,
) -> bool:
    return reconcile(
        "a to b",
        sent=flow,
        received=flow,
        link=link,
        outer_length=lambda _: None,
        inner_mtu=1500,
        ethernet_mtu=ETHERNET_MTU,
        super_packets=False,
        own_bytes=own_bytes,
        carries=carries,
    ).passed


@given(st.integers(1000, 10**6), st.integers(64, 1400), st.integers(20, 164), st.floats(1, 10))
def test_a_stream_reconciles_whatever_its_segments(
    packets: int, length: int, record: int, records_per_segment: float
) -> None:
    flow = Flow(packets, packets * length, length)
    segments = int(packets / records_per_segment) + 1
    payload = packets * (length + record)
    assert judge_stream(flow, LinkCount(segments, payload + 52 * segments))


def test_small_packets_may_cost_what_the_longest_records_do() -> None:
    flow = Flow(10_000, 10_000 * 73)
    for record, reconciles in ((164, True), (200, False)):
        payload = 10_000 * (73 + record)
        assert judge_stream(flow, LinkCount(10_000, payload + 80 * 10_000)) is reconciles


# Of fewer packets, those on their way when the counters are read could hide the difference.
@given(st.integers(10_000, 10**6), st.integers(64, 1460))
def test_clear_text_beside_a_stream_does_not(packets: int, length: int) -> None:
    flow = Flow(packets, packets * length, length)
    assert not judge_stream(flow, LinkCount(packets, packets * length))


# Only of small packets are the headers more than the slack of what is on its way.
@given(st.integers(10_000, 10**6), st.integers(100, 1000), st.floats(0, 0.01))
def test_a_proxy_may_leave_out_the_headers_and_a_tunnel_may_not(
    segments: int, payload: int, overhead: float
) -> None:
    flow = Flow(segments, segments * (payload + 52))
    carried = LinkCount(segments, round(segments * (payload * (1 + overhead) + 52)))
    assert judge_stream(flow, carried, carries=Carried.PAYLOAD)
    assert not judge_stream(flow, carried)


@given(st.integers(10_000, 10**6), st.integers(100, 1400), st.floats(0.1, 0.9))
def test_a_proxy_carries_all_of_the_payload(segments: int, payload: int, share: float) -> None:
    flow = Flow(segments, segments * (payload + 52))
    beside = LinkCount(segments, round(segments * (payload * share + 40)))
    assert not judge_stream(flow, beside, carries=Carried.PAYLOAD)


@given(st.integers(0, 10**6))
def test_a_stream_without_data_has_acknowledgements_only(segments: int) -> None:
    assert judge_stream(Flow(0, 0), LinkCount(segments, 52 * segments))


@given(st.integers(1000, 10**6), st.integers(36, 64))
def test_a_stream_may_acknowledge_what_the_other_direction_carried(
    answered: int, length: int
) -> None:
    link = LinkCount(answered, answered * (52 + length))
    assert judge_stream(Flow(0, 0), link, 64 * answered)
    assert not judge_stream(Flow(0, 0), link)


@given(st.integers(68, 9000), st.integers(576, 9000))
def test_fragments_add_headers(length: int, mtu: int) -> None:
    wire = on_the_wire(length, mtu)
    assert wire == length if length <= mtu else wire > length
    assert (wire - length) % 20 == 0


def test_fragments_of_ipv6_have_longer_headers() -> None:
    assert on_the_wire(1500, 1500, IpVersion.V6) == 1500
    # 1448 bytes with headers of 48, and 13 bytes with as many
    assert on_the_wire(1501, 1500, IpVersion.V6) == 1461 + 2 * 48


@given(st.integers(1, 10**6), st.integers(64, 1380))
def test_over_ipv6_each_packet_is_longer(packets: int, length: int) -> None:
    flow = Flow(packets, packets * length, length)

    def bounds(outer: int, version: IpVersion) -> tuple[float, float]:
        return cost_bounds(flow, lambda _: outer, 1420, ETHERNET_MTU, version)

    outer = wireguard(length)
    shorter, longer = bounds(outer, IpVersion.V4), bounds(outer + LONGER_IPV6, IpVersion.V6)
    assert [ipv6 - ipv4 for ipv4, ipv6 in zip(shorter, longer, strict=True)] == [20 * packets] * 2


def test_fragmentation_of_a_full_packet() -> None:
    assert on_the_wire(1501, 1500) == 1521  # 1480 bytes, and 1 byte with a header of its own
    assert on_the_wire(2980, 1500) == 3000  # 20 + 1480 and 20 + 1480
    assert on_the_wire(2981, 1500) == 3021
