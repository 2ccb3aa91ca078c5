"""Decisions with a guarantee, from recorded results: thresholds of confidence, certified cascades, a gate.

Begin with `recorded_results`. This package imports quorum.graphs and the packages below quorum.graphs.
"""
