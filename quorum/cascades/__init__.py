"""Cascades, whose stages are whole methods: those in files and those that users write, what stages share, rehearsals.

Begin with `composed_file`; `written_cascade` reads `concat>post_fusion`. The theory is in `quorum.algorithms.cascades`,
the graphs in `quorum.graphs.composed` and `quorum.graphs.written`. This package imports only quorum.core.
"""
