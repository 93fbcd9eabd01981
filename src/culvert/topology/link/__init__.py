"""Links as conditions specify them: rates, impairments, presets, recordings."""
