"""Asks the questions of a data set by several methods, writes a row for each answer, and scores them.

Begin reading with evaluate.py. This package may import quorum.graphs and the packages below quorum.graphs.
"""
