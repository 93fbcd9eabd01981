"""The command line: one thin function per command, in a file for each group of commands.

They import what they need when they are called: --help stays quick.
"""

from culvert.commands.entry import main

__all__ = ["main"]
