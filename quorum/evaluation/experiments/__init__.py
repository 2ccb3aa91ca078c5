"""The papers' experiments and the analyses of their results.

Begin with `catalogue`. This package imports quorum.graphs and the packages below quorum.graphs.
"""
