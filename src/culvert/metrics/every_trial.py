"""Metrics that no measurement declares: those of every trial (accounting and the start of the
tunnel), and those that only imports have."""

from __future__ import annotations

from culvert.metrics.spec import Better, MetricSpec, Weight, family

LESS = Better.LESS

CPU_S_PER_GB = MetricSpec("cpu_s_per_gb", "s/GB", "CPU per gigabyte", LESS, Weight.KEY)

EVERY_TRIAL: tuple[MetricSpec, ...] = (
    MetricSpec("cpu_percent", "%", "CPU, all cores together", LESS),
    MetricSpec("cpu_user_percent", "%", "CPU in user mode", LESS),
    MetricSpec("cpu_system_percent", "%", "CPU in the kernel", LESS),
    MetricSpec("cpu_softirq_percent", "%", "CPU in softirq", LESS),
    MetricSpec("cpu_steal_percent", "%", "CPU taken by the hypervisor"),
    MetricSpec("cpu_busy_s", "s", "CPU time", LESS),
    MetricSpec("cpu_busy_uncertainty_s", "s", "By how much the CPU time may be wrong"),
    MetricSpec("cpu_vpn_s", "s", "CPU time of the VPN", LESS),
    MetricSpec("cpu_probe_s", "s", "CPU time of the probe"),
    CPU_S_PER_GB,
    MetricSpec("cpu_vpn_s_per_gb", "s/GB", "CPU of the VPN per gigabyte", LESS, Weight.KEY),
    MetricSpec("cpu_probe_s_per_gb", "s/GB", "CPU of the probe per gigabyte"),
    MetricSpec("cpu_process_s", "s", "CPU time of a process", LESS),
    MetricSpec("cpu_wait_s", "s", "Time that a process's threads waited for a processor"),
    MetricSpec("cpu_thread_s", "s", "CPU time of a thread", LESS),
    MetricSpec("cpu_kernel_thread_s", "s", "CPU time of a kernel thread", LESS),
    MetricSpec("core_busy_s", "s", "CPU time of a core", LESS),
    MetricSpec("core_user_s", "s", "CPU time of a core in user mode", LESS),
    MetricSpec("core_system_s", "s", "CPU time of a core in the kernel", LESS),
    MetricSpec("core_softirq_s", "s", "CPU time of a core in softirq", LESS),
    MetricSpec("context_switches", "switches", "Context switches of a process", LESS),
    MetricSpec("context_switches_total", "switches", "Context switches, all processes", LESS),
    MetricSpec("context_switches_most", "switches", "Context switches, the busiest", LESS),
    MetricSpec("memory_peak_bytes", "bytes", "Greatest memory of a process", LESS),
    MetricSpec("cpu_other_processes_s", "s", "CPU time of other programs"),
    MetricSpec("cpu_throttled", "times", "Throttling of CPUs for their heat"),
    MetricSpec("core_frequency_hz", "Hz", "Frequency of a core after the load"),
    MetricSpec("clock_step_us", "us", "Step of the real-time clock"),
    MetricSpec("tunnel_up_s", "s", "Start of the tunnel before the measurement", LESS),
    MetricSpec("pod_running_s", "s", "From the creation of a pod until it runs", LESS),
    MetricSpec("pod_first_packet_s", "s", "From the creation of pods to the first packet", LESS),
    MetricSpec("node_cpu_s", "s", "CPU time of the VPN on a third node", LESS),
    MetricSpec("node_memory_peak_bytes", "bytes", "Greatest memory on a third node", LESS),
    MetricSpec("node_received_packets", "packets", "Packets that a third node received"),
    MetricSpec("node_received_bytes", "bytes", "Bytes that a third node received"),
)
"""With units: see docs/methodology/cpu.md. Most are labelled with node, process, core or role."""


IMPORTED: tuple[MetricSpec, ...] = (
    MetricSpec("jitter_ms", "ms", "Jitter", Better.LESS),
    MetricSpec("iperf3_cpu_percent", "%", "CPU of iperf3"),
    MetricSpec("node_cpu_percent", "%", "CPU of the node", Better.LESS),
    MetricSpec("node_memory_bytes", "bytes", "Memory of the node", Better.LESS),
    *family("response_{}_ms", "ms", "Response", ("p50", "p90", "p99", "mean", "max"), Better.LESS),
    MetricSpec("requests", "requests", "Requests"),
    MetricSpec("error_ratio", "1", "Share of requests that failed", Better.LESS),
    MetricSpec("flent_median", "as named", "Median of a series of flent"),
)
