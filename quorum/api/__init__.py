"""The public functions besides the methods themselves: streams, indexing, evaluations, for scripts and notebooks."""
