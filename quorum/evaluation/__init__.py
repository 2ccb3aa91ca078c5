"""Evaluation: scorers, statistics, the runner that asks a data set and can be continued, the papers' experiments."""
