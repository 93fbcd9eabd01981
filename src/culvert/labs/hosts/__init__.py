"""The lab ``hosts``: every node a host that OpenSSH reaches.

::

    controller ── ssh (one connection a host) ── guard ── agent ── programs of the trial
                                                 └─ removes everything when the connection ends

Nothing is installed: the probe is copied into a directory of the run, which its guard removes
at the end.
"""
