"""The papers' experiments and the analyses of their results.

Begin with `catalogue`. This package may import quorum.graphs and the packages below quorum.graphs.
"""
