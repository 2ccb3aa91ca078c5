"""The subgraphs that methods share.

Begin with `refinement`, which every method that retrieves passes. Imports nodes and core.
"""
