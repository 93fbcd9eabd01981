from __future__ import annotations

import polars as pl

from .frames import headlines, rows

NAMES = ["none", "a", "b", "c"]


def near(value: float) -> list[float | None]:
    return [value * factor for factor in (0.99, 1.0, 1.01, 0.995, 1.005, 1.0)]


def test_the_best_leads_and_the_rest_follows_in_order() -> None:
    frame = rows({"none": near(100), "a": near(10), "b": near(30), "c": []})
    (found,) = headlines(frame, NAMES)
    assert found.vpns == ("none", "b", "a", "c")
    winner = found.winners["tcp"]
    assert (winner.vpn, winner.level_with, winner.undecided) == ("b", (), ())
    assert ("c", "tcp") not in found.answers
    relative = found.answers["a", "tcp"].relative
    assert relative is not None
    assert relative.distinguishable
    assert found.answers["none", "tcp"].relative is None


def test_equals_are_level() -> None:
    wobble = [1.01, 0.99, 1.0, 0.985, 1.02, 1.0]
    other = [value * 30 for value in wobble]
    frame = rows({"none": near(100), "a": near(30), "b": other})
    winner = headlines(frame, NAMES)[0].winners["tcp"]
    assert set(winner.level_with) | {winner.vpn} == {"a", "b"}


def test_few_blocks_decide_nothing() -> None:
    frame = rows({"none": [100, 100], "a": [10, 11], "b": [30, 31]})
    winner = headlines(frame, NAMES)[0].winners["tcp"]
    assert (winner.vpn, winner.undecided) == ("b", ("a",))


def test_less_is_better_for_latency_and_the_baseline_does_not_compete() -> None:
    frame = rows(
        {"none": near(20), "a": near(60), "b": near(90)}, metric="rtt_p50_us", measurement="rtt"
    )
    assert headlines(frame, NAMES)[0].winners["rtt"].vpn == "a"


def test_small_packets_are_the_smallest_that_were_measured() -> None:
    frame = pl.concat(
        rows(
            {"none": near(value)},
            measurement="udp",
            parameters=f'{{"packet_size":{size},"rate":"50000/s"}}',
            first_trial=100 * index,
        )
        for index, (size, value) in enumerate([('"max"', 9.0), ("512", 5.0), ("64", 1.0)])
    )
    (found,) = headlines(frame, ["none"])
    assert found.questions[0].parameters == '{"packet_size":64,"rate":"50000/s"}'


def test_many_clients_are_the_most_that_most_vpns_have() -> None:
    frame = pl.concat(
        rows(
            found,
            measurement="gateway_load",
            metric="goodput_bps",
            parameters=f'{{"clients":{clients}}}',
            first_trial=100 * clients,
        )
        for clients, found in [
            (1, {"none": near(9), "a": near(2)}),
            (32, {"none": near(9), "a": near(3)}),
            (8, {"none": near(9), "a": near(2)}),
            (128, {"none": near(9)}),
        ]
    )
    (found,) = headlines(frame, ["none", "a"])
    assert found.questions[0].parameters == '{"clients":32}'


def test_a_flood_is_no_headline() -> None:
    """It offers each VPN what it takes; under equal load, what arrives compares."""
    flood = rows({"none": near(9), "a": near(5)}, measurement="udp", parameters='{"rate":null}')
    assert headlines(flood, ["none", "a"])[0].questions == ()
    paced = rows(
        {"none": near(3), "a": near(2)},
        measurement="udp",
        parameters='{"packet_size":128,"rate":"50000/s"}',
        first_trial=100,
    )
    (found,) = headlines(pl.concat([flood, paced]), ["none", "a"])
    assert [question.column.title for question in found.questions] == ["UDP goodput, equal load"]
    assert found.answers["a", "udp"].absolute.value == 2


def test_the_rate_with_little_loss_is_one() -> None:
    frame = rows({"none": near(9e5), "a": near(2e5)}, measurement="throughput", metric="pdr_pps")
    (found,) = headlines(frame, ["none", "a"])
    assert [question.metric for question in found.questions] == ["pdr_pps"]
    assert found.winners["throughput.pdr_pps"].vpn == "a"


def test_nothing_measured_nothing_asked() -> None:
    assert headlines(rows({}), []) == []
    (found,) = headlines(rows({"a": [1.0]}, status="invalid"), ["a"])
    assert found.questions == ()
    assert found.vpns == ("a",)
