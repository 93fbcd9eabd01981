"""One trial: its attempts, their evidence, and the record of what was found."""
