"""Public functions for scripts and notebooks: streams, indexing, evaluations, comparisons, and methods as
LangChain retrievers and tools.
"""
