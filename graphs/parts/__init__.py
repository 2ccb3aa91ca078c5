"""The subgraphs that methods share, each with its input and output types.

Begin with `refinement`, which reranks and filters what `retrieve` found, if a user chose that. Imports nodes and core.
"""
