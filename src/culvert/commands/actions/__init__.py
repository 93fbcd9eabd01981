"""What each command does: imported when it runs, so that --help stays quick."""
