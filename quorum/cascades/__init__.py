"""Cascades, whose stages are whole methods: the file that holds one, the cache that its stages share, and rehearsals.

Begin with `composed_file`. The theory is in `quorum.algorithms.cascades`, the graph in `quorum.graphs.composed`. This
package imports only quorum.core.
"""
