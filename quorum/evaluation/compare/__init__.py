"""From scores to a decision: estimates, prices, figures, the recommendation.

Begin with `compare`. This package imports quorum.graphs and the packages below it.
"""
