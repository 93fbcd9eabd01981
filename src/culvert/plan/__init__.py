"""Plans: when each cell is measured, and when a run ends. Pure: no clock, no files."""
