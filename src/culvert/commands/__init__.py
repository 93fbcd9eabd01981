"""The command line: one thin function per command, each in a file of its own.

They import what they need when they are called: --help stays quick.
"""

from culvert.commands.entry import main

__all__ = ["main"]
