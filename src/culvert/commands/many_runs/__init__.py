"""Commands on the runs of a directory."""
