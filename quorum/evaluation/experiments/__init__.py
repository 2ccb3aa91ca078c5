"""The papers' experiments and what they work out.

Begin with `catalogue`. Imports graphs and below.
"""
