"""Data files: questions with answers (in our JSON lines or in published formats), passages, examples (questions with
answers) that prompts show, and silver data, which are sentences chosen automatically to train a filter.

Begin with `records`. This package imports only algorithms and core.
"""
