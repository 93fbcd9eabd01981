"""A record of the machine that a measurement ran on, kept with its numbers.

Everything is read from /proc and /sys. A value that is not available is None, never an error. The
record contains nothing that identifies a machine or a person: no host name, MAC, IP address, serial
number or user name, and no kernel command line (only the parameters that change performance).
"""

from culvert.machine.record.capture import Environment, capture, observe

__all__ = ["Environment", "capture", "observe"]
