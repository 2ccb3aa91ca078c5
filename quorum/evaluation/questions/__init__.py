"""Questions with answers and gold passages, written by a model from documents.

Begin with `write.py`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
