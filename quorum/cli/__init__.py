"""The `quorum` command: thin, no logic of its own."""
