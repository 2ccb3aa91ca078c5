"""The page of `quorum serve`: ask, watch the graphs at work, compare, upload. Only `quorum.cli` imports it."""
