"""``python -m culvert``: the command, whatever PATH holds."""

from culvert.commands import main

main()
