"""Checks of captured underlay packets: no clear text, nothing beside the tunnel, ciphertext."""

from __future__ import annotations

from culvert.journal.marks import SEARCHED
from culvert.probe.results import Captured, Doubtful
from culvert.trial.check import Check
from culvert.trial.outside import found_share
from culvert.vpns.base import Vpn
from culvert.vpns.outer import outer_packet

ENTROPY_BITS = 7.9
"""Bits per byte that ciphertext must reach; English text has about 4.5, a repeated canary 5."""
MIXED_ENTROPY_BITS = 7.0
"""Bits per byte with headers between the ciphertexts: small packets in a tunnel over TCP."""
_BESIDE_CANARY = 0.5
"""Bytes at a relay that the path does not use, as a share of those of a canary that crosses it:
keepalives, and members that look for paths."""
_SHOWN_BYTES = 16
HANDSHAKE_PACKETS = 40
"""A loaded tunnel may send so many readable packets: one with certificates takes about twenty, also
to renew its keys."""
READABLE_PPS = 4
"""And so many a second: a renewal of keys every five seconds, as OpenVPN's +reneg has."""
_BY_CHANCE = 5
_RUN = 12
"""Bytes in a row that two packets of ciphertext never share: those of the probe's table.rs."""
_UNENCRYPTED = "the tunnel does not encrypt, or traffic bypasses it"
_CALMER = "repeat it while fewer other programs need the processors"
ENTROPY_SAMPLE_BYTES = 20_000
"""With fewer bytes the estimate itself is too low to be used."""


def judge_capture(
    vpn: Vpn,
    captured: Captured,
    where: str,
    *,
    entropy_bits: float = MIXED_ENTROPY_BITS,
    corruption: float = 0.0,
    duplication: float = 0.0,
    readable: int | None = None,
) -> list[Check]:
    """Checks of one capture. ``where`` names the place and phase, ``corruption`` is the requested
    share of packets in which the link flips a bit, ``duplication`` of those that it repeats.
    ``readable`` packets at most may be messages with clear text, such as a handshake's; None: any
    number.

    For the baseline the canary must be *seen*, which shows that the capture works. A variant that
    protects integrity only may have clear text in its own packets.
    """
    if vpn.outer_flow is None:
        return [_capture_sees(captured, where)]
    if vpn.variant.integrity_only:
        return [_tunnel_seen(captured, where), _nothing_beside(captured, where, corruption)]
    return [
        _tunnel_seen(captured, where),
        no_clear_text(captured, where),
        _nothing_beside(captured, where, corruption),
        *_looks_random(captured, where, entropy_bits),
        *_one_by_one(vpn, captured, where, corruption),
        _nothing_in_common(vpn, captured, where, corruption + duplication),
        *([] if readable is None else [_few_readable(vpn, captured, where, readable, corruption)]),
    ]


def judge_silence(
    vpn: Vpn,
    captured: Captured,
    where: str,
    *,
    corruption: float = 0.0,
    duplication: float = 0.0,
) -> list[Check]:
    """The checks of a capture of a tunnel that may send nothing."""
    if vpn.outer_flow is None:
        return []
    return [
        no_clear_text(captured, where),
        _nothing_beside(captured, where, corruption),
        *_one_by_one(vpn, captured, where, corruption),
        _nothing_in_common(vpn, captured, where, corruption + duplication),
    ]


def readable_inside(captured: Captured) -> Check:
    """Whether a variant without encryption sends readable payload: otherwise its facts are
    wrong."""
    return _readable(
        "the payload is readable, as the variant claims",
        captured,
        "the variant encrypts although it claims not to: check the negotiated cipher",
    )


def _readable(name: str, captured: Captured, remedy: str, more: str = "") -> Check:
    """Whether the canary was found at all, where it must be."""
    hits = captured.canary_hits
    return Check(
        name,
        hits > 0,
        f"the canary was readable in {hits} of {_looked_at(captured)}{more}",
        remedy,
        {"packets": captured.packets, "canary_hits": hits},
    )


def _looked_at(captured: Captured) -> str:
    return f"{captured.packets} packets {captured.seen_by}{_lost(captured)}"


def _lost(captured: Captured) -> str:
    lost = captured.kernel_drops
    return f" ({lost} more were not captured)" if lost else ""


def _searched(captured: Captured) -> str:
    """All packets of the link, in thousands, where a sample of them is captured."""
    if captured.searched is None:
        return _looked_at(captured)
    return f"{captured.searched.packets:,} packets {captured.searched_by}{_lost(captured)}"


def _capture_sees(captured: Captured, where: str) -> Check:
    return _readable(
        f"clear text is seen without a VPN ({where})",
        captured,
        "the capture on the underlay sees no traffic; check the device and the probe's rights",
    )


def _tunnel_seen(captured: Captured, where: str) -> Check:
    return Check(
        f"the tunnel's packets are on the underlay ({where})",
        captured.matching.total() > 0,
        f"{captured.matching.total()} of {_looked_at(captured)} are of the tunnel",
        "the traffic did not cross the underlay as this VPN's packets: check the routes",
        {"packets": captured.packets, "tunnel_packets": captured.matching.total()},
    )


def no_clear_text(captured: Captured, where: str) -> Check:
    """Whether the canary is readable in none of the packets, nor an inner header, and all of them
    were searched."""
    hits, missed = captured.canary_hits, captured.kernel_drops
    headers = captured.inner_ends
    found = []
    for what, count, example in (
        ("the canary", hits, captured.canary_example),
        ("an inner header", headers.packets, headers.example),
    ):
        if count:
            such = f", such as {example}" if example else ""
            found.append(f"{what} was readable in {count} packets{such}")
    return Check(
        f"no clear text on the underlay ({where})",
        not found and not missed,
        "; ".join(found) or f"the canary was in 0 of {_searched(captured)}",
        _UNENCRYPTED if found else _CALMER,
        {
            SEARCHED: captured.searched_packets,
            "canary_hits": hits,
            "inner_headers": headers.packets,
            "missed": missed,
        },
    )


def canary_at_relay(captured: Captured, relay: str, payload_bytes: int, *, used: bool) -> Check:
    """Whether the canary crossed a relay that the path claims to use, and no other one.

    Bytes are compared, since a relay's stream has many packets in one. The relay receives and sends
    each request and each answer, so it carries ``payload_bytes`` (of the canaries that came back)
    four times. Headers, which are not in them, are the tolerance.
    """
    least = 4 * payload_bytes
    most = int(least * _BESIDE_CANARY)
    return Check(
        f"the canary's bytes at {relay}",
        (captured.bytes >= max(least, 1)) if used else captured.bytes <= most or not payload_bytes,
        f"{captured.bytes} bytes in {_looked_at(captured)}; expected: "
        + (f"at least {least}" if used else f"at most {most}"),
        "the path's route is not the one that the VPN reports: check its own status of the path, "
        "and its log",
        {"packets": captured.packets, "bytes": captured.bytes, "canary_bytes": payload_bytes},
    )


def clear_inside(captured: Captured, relay: str) -> Check:
    """Whether a relay that decrypts has the packets in clear text: only then is its route what it
    claims to be, and end-to-end encryption is not given."""
    return _readable(
        f"clear inside {relay}",
        captured,
        "the packets do not cross this interface: check the VPN's own status of the path",
        f", on the VPN's interface; {relay} decrypts: the path has no end-to-end encryption",
    )


def _nothing_beside(captured: Captured, where: str, corruption: float) -> Check:
    """An ICMP error about the tunnel's own packets, for example of a port that is closed while a
    VPN restarts, counts as the tunnel's: it quotes ciphertext, and is searched for the canary
    too."""
    count = captured.other.packets
    excused = _corrupted(captured.searched_packets, corruption)
    return Check(
        f"nothing beside the tunnel ({where})",
        count <= excused,
        f"{count} of {_searched(captured)} do not belong to the tunnel"
        + (f", such as {captured.other.examples[0]}" if captured.other.examples else ""),
        "find the other sender on the underlay; a route may bypass the tunnel",
        {
            "other_packets": count,
            "examples": captured.other.examples,
            "icmp_about_the_tunnel": captured.about_flow.packets,
        },
    )


def _corrupted(packets: int, corruption: float) -> float:
    """At most so many packets of the tunnel may look like another's, for a flipped bit in a
    header."""
    return 2 * corruption * packets + (3 if corruption else 0)


def _one_by_one(vpn: Vpn, captured: Captured, where: str, corruption: float) -> list[Check]:
    """Each packet of the flow is a message of the VPN, and encrypted where that message is.

    Noise is taken for structure in one packet of 10^12. Without declared messages a handshake may
    have clear text anywhere.
    """
    excused = _corrupted(captured.packets, corruption)
    strangers, structured = captured.strangers, captured.structured
    unencrypted = structured if _declares(vpn) else _without_handshakes(vpn, structured)
    remedy = "find the sender: it sends to the tunnel's own port, beside the tunnel or as a part"
    checks = [
        Check(
            f"each packet looks encrypted ({where})",
            unencrypted.packets <= excused,
            f"{_how_many(unencrypted, captured)} have structure where ciphertext is due"
            + _of_a_sample(captured),
            remedy,
            {
                "structured": unencrypted.packets,
                "of_the_handshake": structured.packets - unencrypted.packets,
                "share_of_one_in": found_share(captured.matching.total()),
            },
        )
    ]
    if _declares(vpn):
        checks.append(
            Check(
                f"each packet is a message of the VPN ({where})",
                strangers.packets <= excused,
                f"{_how_many(strangers, captured)} are not messages of {vpn.name}",
                remedy,
                {"strangers": strangers.packets},
            )
        )
    return checks


def _declares(vpn: Vpn) -> bool:
    flow = vpn.outer_flow
    return flow is not None and flow.declares_messages


def _without_handshakes(vpn: Vpn, doubtful: Doubtful) -> Doubtful:
    """The packets without those of a handshake, as the driver says."""
    left = [each for each in doubtful.recorded if not vpn.is_handshake(outer_packet(each))]
    excluded = len(doubtful.recorded) - len(left)
    return Doubtful(packets=doubtful.packets - excluded, recorded=left)


def _nothing_in_common(vpn: Vpn, captured: Captured, where: str, repeated: float) -> Check:
    """``repeated`` is the requested share of packets that the link repeats or corrupts. A handshake
    may repeat its messages."""
    common = captured.in_common
    sharing = _without_handshakes(vpn, common.sharing)
    excused = _corrupted(common.packets, repeated)
    shared = (
        f"{_how_many(sharing, captured, common.packets)} have {_RUN} bytes in a row of an earlier "
        f"one; {len(common.structured)} of {common.columns} columns of bytes have structure"
    )
    if common.structured:
        shared += f", such as that of byte {common.structured[0]} behind the header"
    return Check(
        f"packets have nothing in common ({where})",
        sharing.packets <= excused and not common.structured,
        shared,
        "the VPN repeats a key stream, or leaves a part of each packet in clear text",
        {
            "compared": common.packets,
            "sharing": sharing.packets,
            "columns": common.columns,
            "structured_columns": len(common.structured),
        },
    )


def _few_readable(
    vpn: Vpn, captured: Captured, where: str, of_all: int, corruption: float
) -> Check:
    """Of a sample as large a share, and a few more, since it is random. What was left out of other
    checks because the driver says that it is a handshake's counts too."""
    readable = captured.readable
    left_out = (captured.in_common.sharing, *([] if _declares(vpn) else [captured.structured]))
    for each in left_out:
        handshakes = each.packets - _without_handshakes(vpn, each).packets
        readable = Doubtful(packets=readable.packets + handshakes, recorded=readable.recorded)
    share = min(1.0, captured.packets / max(captured.searched_packets, 1))
    all_of_them = of_all + READABLE_PPS * captured.seconds
    most = all_of_them * share + _BY_CHANCE + _corrupted(captured.packets, corruption)
    return Check(
        f"few packets of a handshake ({where})",
        readable.packets <= most,
        f"{_how_many(readable, captured)} are messages that may be readable, such as those of a "
        f"handshake; expected: at most {most:.0f}",
        "find the sender: it sends clear text behind a handshake's header, or the tunnel connects "
        "again and again; see its log",
        {"readable": readable.packets, "most": most},
    )


def _of_a_sample(captured: Captured) -> str:
    if captured.searched_packets <= captured.packets:
        return ""
    one_in = found_share(captured.matching.total())
    return f"; this sample finds a share of one packet in {one_in:,} with 95 %" if one_in else ""


def _how_many(doubtful: Doubtful, captured: Captured, of: int | None = None) -> str:
    total = captured.matching.total() if of is None else of
    count = f"{doubtful.packets} of {total} packets of the tunnel's flow"
    if not doubtful.recorded:
        return count
    one = doubtful.recorded[0]
    ports = f", ports {one.source_port} and {one.destination_port}" if one.source_port else ""
    start = one.payload[: 2 * _SHOWN_BYTES]
    return f"{count} (such as one of {one.length} bytes{ports}, payload {start}...)"


def _looks_random(captured: Captured, where: str, entropy_bits: float) -> list[Check]:
    if captured.randomness is None or captured.randomness.bytes < ENTROPY_SAMPLE_BYTES:
        return []
    bits, count = captured.randomness.bits_per_byte, captured.randomness.bytes
    return [
        Check(
            f"payload looks encrypted ({where})",
            bits >= entropy_bits,
            f"{bits:.3f} bits per byte over {count} bytes",
            "the outer payload has structure: the tunnel encodes it instead of encrypting it",
            {"bits_per_byte": bits, "bytes": count},
        )
    ]
