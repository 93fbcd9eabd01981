"""Facts of a host: its device, network, clock, CPUs, and what else goes on there."""
