"""What the numbers mean. Pure: data frames in, data frames out; no files, no clock, no network."""
