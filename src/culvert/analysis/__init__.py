"""The analysis of a run. Pure: data frames in, data frames out; no files, no clock, no network."""
