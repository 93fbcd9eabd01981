"""Reproductions: which claims and figures of a published run hold in another run."""
