"""The subgraphs that methods share, each with its input and output types.

Begin with `refinement`, which every method runs after `retrieve`. Imports nodes and core.
"""
