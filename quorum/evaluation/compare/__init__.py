"""Compares methods: the estimate before a run; after it, the figures of each method and the recommendation.

Begin with `compare.py`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
