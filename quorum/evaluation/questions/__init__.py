"""Questions with answers and gold passages, written by a model from documents.

Begin with `write`. Imports graphs and below.
"""
