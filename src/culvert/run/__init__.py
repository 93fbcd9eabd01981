"""Running a study: one trial after another, each on a new lab, each proved and journalled."""
