"""CPUs: which handle interrupts and packets, and whether programs may use AES instructions."""
