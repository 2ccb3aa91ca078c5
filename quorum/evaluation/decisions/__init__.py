"""Decisions with a guarantee, from recorded results: thresholds of confidence, certified cascades, a gate.

Begin with `recorded_results`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
