from typing import Any

import pytest

from culvert.probe.results import Accounted
from culvert.trial.accounting import OTHERS
from culvert.trial.cpu import OF_THE_SPLIT, OF_THE_WHOLE, cpu_figures


def accounted(**changes: Any) -> dict[str, Accounted]:
    base: dict[str, Any] = {
        "seconds": 2.0,
        "cpus": [
            {"cpu": 0, "user_s": 0.5, "system_s": 0.25, "softirq_s": 0.25, "idle_s": 1.0},
            {"cpu": 1, "user_s": 1.0, "system_s": 1.0, "softirq_s": 0.0, "idle_s": 0.0},
        ],
        "processes": [
            {
                "label": "openvpn",
                "pid": 7,
                "run_ns": 1_200_000_000,
                "user_s": 1.0,
                "system_s": 0.2,
                "voluntary": 10,
                "involuntary": 3,
                "vm_hwm_bytes": 5_000_000,
                "threads": [{"tid": 7, "name": "openvpn", "run_ns": 1_200_000_000}],
            }
        ],
        "probe": {"run_ns": 250_000_000},
        "context_switches_total": 1000,
    }
    node = Accounted.model_validate({**base, **changes})
    return {"a": node, "b": node}


def values(shared_kernel: bool = True, goodput_bytes: int | None = 10**9) -> dict[str, float]:
    figures = cpu_figures(accounted(), goodput_bytes=goodput_bytes, shared_kernel=shared_kernel)
    return {metric.name: metric.value for metric in figures.metrics if not metric.labels}


def test_percentages_add_the_cores_up() -> None:
    found = values()
    assert found["cpu_percent"] == pytest.approx(150.0)
    assert found["cpu_user_percent"] == pytest.approx(75.0)
    assert found["cpu_softirq_percent"] == pytest.approx(12.5)


def test_a_shared_kernel_is_counted_once_and_two_kernels_twice() -> None:
    assert values(shared_kernel=True)["cpu_busy_s"] == pytest.approx(3.0)
    assert values(shared_kernel=False)["cpu_busy_s"] == pytest.approx(6.0)


def test_seconds_per_gigabyte_for_machine_vpn_and_probe() -> None:
    found = values(goodput_bytes=2 * 10**9)
    assert found["cpu_s_per_gb"] == pytest.approx(1.5)
    assert found["cpu_vpn_s_per_gb"] == pytest.approx(1.2)
    assert found["cpu_probe_s_per_gb"] == pytest.approx(0.25)


def test_the_kernels_threads_are_the_vpns_but_for_softirq() -> None:
    threads = [
        {"comm": "kworker/0:1-wg-crypt-wg0", "pid": 30, "run_ns": 400_000_000},
        {"comm": "ksoftirqd/0", "pid": 9, "run_ns": 900_000_000},
    ]
    figures = cpu_figures(accounted(kernel_threads=threads), goodput_bytes=None, shared_kernel=True)
    metrics = figures.metrics
    found = {metric.name: metric.value for metric in metrics if not metric.labels}
    assert found["cpu_vpn_s"] == pytest.approx(2 * 1.2 + 0.4)


def test_what_cannot_be_attributed_is_left_out() -> None:
    figures = cpu_figures(accounted(), goodput_bytes=10**9, shared_kernel=True, attributable=False)
    metrics = figures.metrics
    names = {metric.name for metric in metrics}
    assert "cpu_s_per_gb" in names
    assert not {"cpu_vpn_s", "cpu_vpn_s_per_gb"} & names


def test_without_goodput_there_is_no_figure_per_gigabyte() -> None:
    assert "cpu_s_per_gb" not in values(goodput_bytes=None)
    assert "cpu_s_per_gb" not in values(goodput_bytes=0)


def test_processes_threads_and_switches_are_named() -> None:
    metrics = cpu_figures(accounted(), goodput_bytes=None, shared_kernel=True).metrics
    found = {(m.name, m.labels.get("node"), m.labels.get("kind")): m for m in metrics}
    assert found["context_switches", "a", "voluntary"].value == 10
    assert found["memory_peak_bytes", "b", None].value == 5_000_000
    assert found["cpu_thread_s", "a", None].labels["thread"] == "openvpn:7"


def test_who_switched_most_by_name_and_others_are_not_the_vpns() -> None:
    def process(label: str, comm: str, voluntary: int) -> dict[str, Any]:
        return {
            "label": label,
            "comm": comm,
            "pid": voluntary,
            "run_ns": 5_000_000_000,
            "voluntary": voluntary,
            "involuntary": 1,
        }

    nodes = accounted(
        processes=[
            process("vpn", "vpnd", 100),
            process(OTHERS, "vpnd", 50),
            *(process(OTHERS, f"p{n}", n) for n in range(1, 6)),
            process(OTHERS, "kworker/0:1-events", 20),
            process(OTHERS, "kworker/u4:0", 30),
        ],
    )
    found = cpu_figures(nodes, goodput_bytes=None, shared_kernel=True).metrics
    most = {m.labels["process"]: m.value for m in found if m.name == "context_switches_most"}
    assert most == {"vpnd": 51, "kworker": 52, "p5": 6, "p4": 5, "p3": 4}
    assert {m.labels["process"] for m in found if m.name == "cpu_process_s"} <= {"vpn", "probe"}


def busy(*cpus: float, uncertainty_s: float = 0.0) -> dict[str, Any]:
    return {
        "clock": "timer_list",
        "cpus": [
            {
                "cpu": cpu,
                "busy_ns": round(seconds * 1e9),
                "uncertainty_ns": round(uncertainty_s * 1e9),
            }
            for cpu, seconds in enumerate(cpus)
        ],
    }


def figures_of(**changes: Any) -> tuple[dict[str, float], set[str]]:
    found = cpu_figures(accounted(**changes), goodput_bytes=10**9, shared_kernel=True)
    withheld = {name for each in found.withheld for name in each.metrics}
    return {metric.name: metric.value for metric in found.metrics}, withheld


def test_the_idle_clocks_come_before_the_ticks() -> None:
    found, withheld = figures_of(busy=busy(1.2, 2.0))
    assert found["cpu_busy_s"] == pytest.approx(3.2)
    assert found["cpu_percent"] == pytest.approx(160.0)
    assert found["cpu_s_per_gb"] == pytest.approx(3.2)
    assert found["core_busy_s"] == pytest.approx(2.0)
    assert not withheld


def test_stolen_time_is_not_busy_and_widens_the_tolerance() -> None:
    cpus = [{"cpu": 0, "user_s": 3.0, "system_s": 0.0, "steal_s": 0.3, "idle_s": 0.0}]
    found, withheld = figures_of(cpus=cpus, busy=busy(3.3))
    assert found["cpu_busy_s"] == pytest.approx(3.0)
    assert found["cpu_busy_uncertainty_s"] == pytest.approx(0.3)
    assert not withheld


def test_parts_above_the_whole_withhold_it_and_keep_the_parts() -> None:
    found, withheld = figures_of(busy=busy(0.0, 0.0))
    assert withheld == {*OF_THE_WHOLE, *OF_THE_SPLIT}
    assert not withheld & set(found)
    assert found["cpu_vpn_s"] == pytest.approx(2.4)
    assert found["cpu_steal_percent"] == 0


@pytest.mark.parametrize(("uncertainty_s", "given"), [(0.0, False), (0.05, False), (0.1, True)])
def test_the_whole_may_be_short_by_its_uncertainty(uncertainty_s: float, given: bool) -> None:
    # The parts are 2 * (1.2 + 0.25) = 2.9 s, the whole 2.7 s on two CPUs.
    _, withheld = figures_of(busy=busy(1.4, 1.3, uncertainty_s=uncertainty_s))
    assert ("cpu_busy_s" not in withheld) == given


def test_a_split_of_something_else_is_withheld_alone() -> None:
    found, withheld = figures_of(busy=busy(2.0, 2.0))  # the ticks counted 3.0 s
    assert withheld == set(OF_THE_SPLIT)
    assert found["cpu_busy_s"] == pytest.approx(4.0)
    assert "cpu_user_percent" not in found


def test_ticks_alone_are_checked_as_well() -> None:
    idle = [{"cpu": 0, "user_s": 0.0, "system_s": 0.0, "idle_s": 2.0}]
    found, withheld = figures_of(cpus=idle)
    assert "cpu_busy_s" not in found
    assert set(OF_THE_WHOLE) <= withheld
