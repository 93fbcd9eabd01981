"""What a measurement ran on, as a record that can stand beside its numbers.

Everything is read from /proc and /sys. What a machine does not tell is None, never an error. The
record carries nothing that names a machine or a person: no host name, MAC, IP address, serial
number or user name, and no kernel command line (only the parameters that change performance).
"""

from culvert.machine.record.capture import Environment, capture, observe

__all__ = ["Environment", "capture", "observe"]
