"""The subgraphs that methods share, each with its input and output types.

Begin with `refinement`, which reranks and filters the passages that `retrieve` found, if the user set a reranker or a
filter. Besides `MethodGraph` and each other, the subgraphs import only nodes and core.
"""
