"""Decisions with a guarantee, from recorded results: thresholds of confidence, certified cascades, a gate.

Begin with `recorded_results`. Imports graphs and below.
"""
