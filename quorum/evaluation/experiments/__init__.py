"""The papers' experiments and the analyses of their results.

Begin with `catalogue`. Imports graphs and below.
"""
