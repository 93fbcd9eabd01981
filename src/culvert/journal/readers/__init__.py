"""Foreign data: results that other tools measured, read into a journal of ours."""
