"""Questions with answers, and silver data, as files: our JSON lines, published formats, examples for prompts.

Begin with `records`. Imports algorithms and core.
"""
