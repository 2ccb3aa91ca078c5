"""Files to passages: which files there are, what they say, and how they are split.

Begin with `read`. Imports datasets, algorithms and core.
"""
