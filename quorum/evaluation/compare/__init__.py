"""From scores to a decision: estimates, prices, figures, the recommendation.

Begin with `compare`. Imports graphs and below.
"""
