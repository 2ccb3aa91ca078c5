"""Asks the questions of a data set by several methods, and writes a row for each answer.

Begin with `evaluate`. This package imports quorum.graphs and the packages below it.
"""
