"""Many runs of one study as series: where their levels changed, and what changed beside it."""
