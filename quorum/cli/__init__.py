"""The `quorum` command: reads options, calls the other packages and prints their results."""
