"""The links of a run: verified before each block, and noted when their path changes."""
