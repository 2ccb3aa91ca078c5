"""Compares methods: the estimate before a run; after it, the figures of each method and the recommendation.

Begin with `estimated_plan.py` and `recommend.py`. This package may import quorum.graphs and the packages below it.
"""
