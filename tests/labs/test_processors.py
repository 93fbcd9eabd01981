"""AES masks, quotas and steering: on real nodes, read back, and gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import NotPossible
from culvert.labs.cpu import aes, steering
from culvert.labs.namespace import cleanup
from culvert.labs.namespace.cleanup import Leftover, LeftoverKind
from culvert.machine import cgroup
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec, Processors, Steering
from culvert.waiting import wait_until
from tests.conftest import LabFactory
from tests.labs.host import left_of

SLOW = LabSpec(processors=Processors(quota={"b": 0.2}), cpus={"b": (0,)})
BURN = "import time\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end: pass"


def has_quotas() -> bool:
    where = cgroup.hierarchy()
    return where is not None and os.access(where.path, os.W_OK) and os.geteuid() == 0


needs_quotas = pytest.mark.skipif(not has_quotas(), reason="needs a cgroup with the controller cpu")


@given(st.sets(st.integers(0, 200), min_size=1))
def test_a_mask_has_a_bit_for_each_cpu(cpus: set[int]) -> None:
    words = steering.mask(cpus).split(",")
    assert all(len(word) == 8 for word in words)
    bits = int("".join(words), 16)
    assert {bit for bit in range(bits.bit_length()) if bits >> bit & 1} == cpus


def test_the_mounted_hierarchy_of_control_groups_is_found(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    unified = tmp_path / "unified"
    unified.mkdir()
    (unified / "cgroup.controllers").write_text("cpuset cpu io\n")
    second = f"41 30 0:38 / {unified} rw shared:1 - cgroup2 cgroup2 rw\n"
    table.write_text(second)
    assert cgroup.hierarchy(table) == cgroup.Hierarchy(unified, 2)
    table.write_text(second + "32 31 0:29 / /c/cpuacct rw - cgroup cgroup rw,cpuacct\n")
    assert cgroup.hierarchy(table) == cgroup.Hierarchy(unified, 2)
    table.write_text("32 31 0:29 / /c/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + second)
    assert cgroup.hierarchy(table) == cgroup.Hierarchy(Path("/c/cpu,cpuacct"), 1)
    (unified / "cgroup.controllers").write_text("cpuset io\n")
    table.write_text(second)
    assert cgroup.hierarchy(table) is None


@pytest.mark.parametrize("cpus", [0.02, 0.2, 1.0, 3.5])
def test_version_two_is_written_as_its_documentation_says(tmp_path: Path, cpus: float) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    group = cgroup.ControlGroup(tmp_path, 2)
    group.limit(cpus)
    quota_us, period_us = group.read()
    assert quota_us / period_us == pytest.approx(cpus)
    assert quota_us >= cgroup.LEAST_QUOTA_US


@pytest.mark.parametrize(("flags", "has"), [("flags : fpu aes", True), ("flags : fpu", False)])
def test_aes_instructions_are_read_from_cpuinfo(flags: str, has: bool) -> None:
    assert aes.lists_instructions(f"processor : 0\n{flags}\n") is has
    assert aes.lists_instructions("") is None


@pytest.mark.lab
class TestNodes:
    @needs_quotas
    def test_a_quota_holds_programs_back_on_its_node_only(self, lab: LabFactory) -> None:
        pair = lab(SLOW)
        script = BURN + "\nprint(time.process_time())"
        used_s = float(pair.b.run([sys.executable, "-c", script]).stdout)
        # Processor time, not how long it took: a fifth of 0.4 s, the interpreter's start besides.
        assert used_s < 0.2
        told = pair.b.facts()["cpu_quota"]
        assert told.startswith("emulated: 2000 us in each 10000 us")
        assert "cpu_quota" not in pair.a.facts()

    @needs_quotas
    def test_descendants_are_in_the_group(self, lab: LabFactory) -> None:
        pair = lab(SLOW)
        said = pair.b.run(["sh", "-c", "sh -c 'cat /proc/self/cgroup'"]).stdout
        assert f"culvert-{pair.run_id}-b" in said

    @needs_quotas
    def test_nothing_is_left(self, lab: LabFactory) -> None:
        pair = lab(SLOW)
        pair.b.spawn(["sleep", "1000"], name="sleeper")
        assert pair.run_id in cgroup.runs().values()
        pair.close()
        assert pair.run_id not in cgroup.runs().values()
        assert left_of(pair.run_id) == []

    @needs_quotas
    @pytest.mark.usefixtures("killing")
    def test_a_killed_run_is_cleaned(self) -> None:
        run_id = new_run_id()
        script = (
            "from culvert.labs.netns.lab import NetnsLab\n"
            "from tests.labs.test_processors import SLOW\n"
            f"lab = NetnsLab('{run_id}', SLOW)\n"
            "lab.open()\nlab.b.spawn(['sleep', '1000'], name='sleeper')\n"
            "print('open', flush=True)\nimport time\ntime.sleep(1000)\n"
        )
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == b"open\n"
            owner.send_signal(signal.SIGKILL)
        wait_until(
            lambda: Leftover(LeftoverKind.RUN, run_id) in cleanup.find_leftovers(),
            what="the run has lost its owner",
            deadline_s=5,
        )
        cleanup.remove(Leftover(LeftoverKind.RUN, run_id))
        assert run_id not in cgroup.runs().values()
        assert left_of(run_id) == []

    def test_the_masks_reach_every_program(self, lab: LabFactory) -> None:
        if aes.has_instructions() is None:
            pytest.skip("the processor does not tell its flags")
        pair = lab(LabSpec(processors=Processors(aes=False)))
        for node in (pair.a, pair.b):
            told = node.run(["env"]).stdout.splitlines()
            assert all(f"{name}={value}" in told for name, value in aes.OFF.items())
            assert node.facts()["variables"] == dict(aes.OFF)
        assert "OPENSSL_ia32cap" not in lab().a.run(["env"]).stdout

    def test_steering_is_on_and_off_as_asked(self, lab: LabFactory) -> None:
        spec = LabSpec(
            link=LinkSpec(queues=2), processors=Processors(steering=Steering(rps=True, xps=True))
        )
        pair = lab(spec)
        device = pair.a.underlay.device
        wanted = int(steering.mask(pair.a.usable_cpus).replace(",", ""), 16)
        queues = pair.a.facts()["steering"][device]
        assert {int(queues[f"rx-{n}/rps_cpus"].replace(",", ""), 16) for n in (0, 1)} == {wanted}
        assert {int(queues[f"tx-{n}/xps_cpus"].replace(",", ""), 16) for n in (0, 1)} == {wanted}
        pair.a.steer(device, Steering(rps=False))
        assert int(steering.read(pair.a, device)["rx-0/rps_cpus"], 16) == 0
        assert int(steering.read(pair.a, device)["tx-0/xps_cpus"], 16) == wanted

    def test_one_queue_has_no_transmit_steering(self, lab: LabFactory) -> None:
        wire = LinkSpec(kind="wire")
        with pytest.raises(NotPossible, match="single queue"):
            lab(LabSpec(link=wire, processors=Processors(steering=Steering(xps=True))))

    def test_flow_steering_wants_the_machines_table(self, lab: LabFactory) -> None:
        spec = LabSpec(processors=Processors(steering=Steering(rfs=True)))
        table = Path("/proc/sys/net/core/rps_sock_flow_entries")
        if table.exists() and int(table.read_text()) > 0:
            queues = lab(spec).a.facts()["steering"]
            assert all(told["rx-0/rps_flow_cnt"] == str(steering.FLOWS) for told in queues.values())
        else:
            with pytest.raises(NotPossible, match="RFS"):
                lab(spec)
