"""Measures of an answer and its passages, prices of its calls, statistics of many.

Begin with `answers`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
