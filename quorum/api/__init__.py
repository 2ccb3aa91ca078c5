"""Public functions for scripts and notebooks: streams, indexing, evaluations and comparisons."""
