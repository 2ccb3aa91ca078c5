"""What `quorum` offers besides the methods themselves: streams, indexing and evaluations, for scripts and notebooks."""
