"""This machine, for what a driver asks before there is a lab."""

from __future__ import annotations

from culvert.labs.this_machine import ThisMachine

HERE = ThisMachine()
