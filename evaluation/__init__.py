"""Evaluation: scorers, and the runner that asks a data set by several methods and can be continued."""
