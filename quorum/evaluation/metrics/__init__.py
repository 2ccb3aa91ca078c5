"""Measures answers and their passages: scorers, judges, statistics.

Begin with `answers`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
