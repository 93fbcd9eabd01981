"""Statistics of plain series: arrays in, frozen dataclasses out; formulas in docs/statistics.md.

SciPy's wherever SciPy has them.
"""
