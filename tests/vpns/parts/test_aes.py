from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.errors import NotPossible
from culvert.labs.cpu import aes
from culvert.labs.host import Completed
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.run.trials.requirements import refuse_without_effect
from culvert.run.trials.traps import traps
from culvert.topology.spec import LabSpec, Processors
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.parts.aes import AesUse, aes_use, kernel_use, process_use, require_requested_aes
from culvert.vpns.variant import DataCipher, DataPath, Variant
from tests.conftest import LabFactory
from tests.vpns.tunnels import bring_up, driver, planned, skip_reason

X86 = "processor : 0\nvendor_id : GenuineIntel\nflags : fpu aes avx\n"
DAEMON = cast(Process, SimpleNamespace(pid=7, name="daemon"))
UML = "processor : 0\nvendor_id : User Mode Linux\nflags : fpu aes\n"


def node_with(files: Mapping[str, str], *, go: bool = False) -> Node:
    """A node with these files, whose programs are of Go, or not."""

    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path].encode()

    def run(argv: Sequence[str], *, check: bool) -> Completed:
        assert argv[-1] == "/proc/7/exe"
        return Completed(tuple(argv), 0 if go else 1, "", "")

    return cast(Node, SimpleNamespace(read=read, run=run))


@pytest.mark.parametrize(
    ("cpuinfo", "crypto", "used"),
    [
        (X86, "driver       : rfc4106-gcm-aesni\n", True),
        (X86, "driver       : gcm-vaes-avx10\n", True),
        (X86, "driver       : aes-generic\n", False),
        (X86, "driver       : cbc(ecb(aes-fixed-time))\n", False),
        (X86, "driver       : aes-lib\n", None),
        (UML, "driver       : aes-lib\n", False),
        ("flags : fpu\n", "driver       : aes-lib\n", False),
    ],
)
def test_the_kernels_use_of_aes_instructions_is_found(
    cpuinfo: str, crypto: str, used: bool | None
) -> None:
    node = node_with({"/proc/cpuinfo": cpuinfo, "/proc/crypto": crypto})
    assert kernel_use(node).used is used


@pytest.mark.parametrize(
    ("maps", "environ", "used"),
    [
        ("7f /usr/lib/libcrypto.so.3", "A=1\0", True),
        ("7f /usr/lib/libcrypto.so.3", f"A=1\0{aes.OPENSSL}={aes.OFF[aes.OPENSSL]}\0", False),
        ("7f /usr/lib/libcrypto.so.3", f"{aes.OPENSSL}=:~0x20\0", True),
        ("7f libcrypto.so\n7f libstrongswan-aesni.so", f"{aes.OPENSSL}=x\0", True),
        ("7f /usr/lib/libc.so.6", "A=1\0", None),
    ],
)
def test_a_processs_use_of_aes_instructions_is_found(
    maps: str, environ: str, used: bool | None
) -> None:
    node = node_with({"/proc/cpuinfo": X86, "/proc/7/maps": maps, "/proc/7/environ": environ})
    assert process_use(node, DAEMON).used is used


def test_a_processor_without_the_instructions() -> None:
    node = node_with({"/proc/cpuinfo": "flags : fpu\n", "/proc/7/maps": "/usr/lib/libcrypto.so.3"})
    assert process_use(node, DAEMON).used is False


def test_a_go_program() -> None:
    masked = f"{aes.GO}={aes.OFF[aes.GO]}\0"
    files = {"/proc/cpuinfo": X86, "/proc/7/maps": "", "/proc/7/environ": masked}
    assert process_use(node_with(files, go=True), DAEMON).used is False
    assert process_use(node_with({**files, "/proc/7/environ": ""}, go=True), DAEMON).used is True


@pytest.mark.parametrize("asked", [True, False])
def test_other_than_asked_is_no_result(asked: bool) -> None:
    require_requested_aes(None, AesUse(None, "unknown"))
    require_requested_aes(asked, AesUse(asked, "as asked"))
    for used in (None, not asked):
        with pytest.raises(NotPossible, match="aes = "):
            require_requested_aes(asked, AesUse(used, "how"))


@pytest.mark.parametrize(
    ("word", "cipher"),
    [
        ("openvpn/aes-128-cbc", DataCipher.AES),
        ("openvpn/dco-aes-256-gcm", DataCipher.AES),
        ("openvpn/chacha20-poly1305", DataCipher.CHACHA20),
        ("openvpn/none", DataCipher.NONE),
        ("wireguard/go", DataCipher.CHACHA20),
        ("strongswan/esp-aes128gcm", DataCipher.AES),
        ("strongswan/esp-chacha20poly1305", DataCipher.CHACHA20),  # its IKE is AES-GCM
        ("none", DataCipher.NONE),
    ],
)
def test_a_variant_declares_the_cipher_of_its_data(word: str, cipher: DataCipher) -> None:
    vpn = driver(word)
    assert vpn.variant.cipher is cipher
    assert aes_use(vpn, planned(word).lab).needed == (cipher is DataCipher.AES)


def test_every_variant_of_ours_declares_one() -> None:
    for word in map(str, registry.all_variants()):
        variant = driver(word).variant
        assert variant.cipher is not None, word
        assert variant.encrypts == (variant.cipher is not DataCipher.NONE), word


def test_of_an_undeclared_cipher_nothing_is_known_whatever_its_name() -> None:
    class Undeclared:
        variant = Variant("aes-256", "AES", {"cipher": "AES"})

    use = aes_use(cast("Vpn", Undeclared()), planned("none").lab)
    assert use.used is None
    with pytest.raises(NotPossible, match="declares no cipher"):
        require_requested_aes(True, use)


def test_another_cipher_fulfils_every_request() -> None:
    use = aes_use(driver("wireguard/go"), planned("none").lab)
    assert not use.needed
    for requested in (True, False, None):
        require_requested_aes(requested, use)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("asked", [None, False])
def test_openvpn_is_masked_where_asked(lab: LabFactory, asked: bool | None) -> None:
    if lacks := skip_reason("openvpn/aes-128-gcm"):
        pytest.skip(lacks)
    if not aes.has_instructions():
        pytest.skip("the processor has no AES instructions")
    vpn, pair = driver("openvpn/aes-128-gcm"), lab(LabSpec(processors=Processors(aes=asked)))
    bring_up(vpn, pair)
    told = traps(vpn, pair)
    wanted = "used: OpenSSL" if asked is None else "off: OPENSSL_ia32cap is set for OpenSSL"
    assert told["AES instructions"] == wanted
    assert set(told["threads"].split(", ")) == {"openvpn on a: 1", "openvpn on b: 1"}
    assert told["tunnel device"].startswith("tun, MTU 1500, queueing ")
    vpn.stop(pair)


def test_a_quota_is_refused_where_the_kernel_does_the_work() -> None:
    class InKernel:
        id = "x/kernel"
        variant = Variant("kernel", "in the kernel", {})
        chosen = frozenset[str]()
        data_path = DataPath.KERNEL

    slow = LabSpec(processors=Processors(quota={"b": 0.2}))
    with pytest.raises(NotPossible, match="is in the kernel"):
        refuse_without_effect(InKernel(), slow)  # type: ignore[arg-type]
    InKernel.data_path = DataPath.USER
    refuse_without_effect(InKernel(), slow)  # type: ignore[arg-type]
