"""The command line: one thin function per command, each in a file of its own.

They import what they need when they are called: --help stays quick.
"""

from culvert import interruption


def main() -> None:
    """Run the command."""
    interruption.end_at_once()
    from culvert.commands import entry

    entry.main()
