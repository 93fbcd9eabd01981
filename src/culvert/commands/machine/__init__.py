"""Commands on this machine, and programs run by hand."""
