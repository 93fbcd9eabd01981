"""Study files: they define what is measured."""
