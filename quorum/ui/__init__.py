"""The page of `quorum serve`: ask, watch the graphs at work, compare, upload. Only the command line imports it."""
