"""What an answer and its passages are worth: scorers, judges, statistics.

Begin with `answers`. Imports graphs and below.
"""
