"""Measures answers and their passages: scorers, judges, statistics.

Begin with `answers`. Imports graphs and below.
"""
