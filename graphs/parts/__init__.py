"""The subgraphs that methods share, each with its input and output types.

Begin with `retrieve`, which finds the passages, and reranks and filters them if the user set a reranker or a filter.
Besides `MethodGraph` and each other, the subgraphs import only nodes and core.
"""
