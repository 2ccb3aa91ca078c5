"""Ask the questions of a data set by several methods, and write a row for each answer.

Begin with `evaluate`. Imports graphs and below.
"""
