"""Parsers of replies: one file for each format that prompts ask for.

Begin with `answers`. Parsers accept replies in quotes, tags or code fences, and never raise. The package imports only
`quorum.algorithms` and `quorum.core`.
"""
