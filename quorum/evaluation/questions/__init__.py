"""Questions with answers and gold passages, written by a model from documents.

Begin with `write.py`. This package imports quorum.graphs and the packages below quorum.graphs.
"""
