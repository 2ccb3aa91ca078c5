"""Data files: questions with answers (as our JSON lines or in published formats), passages, examples of answers for
prompts, and silver data, which are sentences chosen automatically to train a filter.

Begin with `records`. Imports algorithms and core.
"""
