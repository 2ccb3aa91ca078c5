"""The page of `quorum serve`: its sources in `src/`, what browsers load in `built/`, and what sends it."""
