"""``python -m culvert``: the command, whatever PATH holds."""

from culvert.cli import main

main()
