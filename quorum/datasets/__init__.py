"""Data files: questions with answers in our JSON lines and in published formats, passages, examples, silver data.

Begin with `records`. Imports algorithms and core.
"""
