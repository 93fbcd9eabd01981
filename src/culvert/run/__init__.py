"""Running a study: one trial after another, each on a fresh lab, each proved, each journalled."""
