"""Decisions from results: which method to take, thresholds of confidence, certified cascades, a gate.

Begin with `decide` and `recorded_results`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
