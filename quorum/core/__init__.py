"""What every other package uses: a graph's state, the settings (`Context`), errors, sentences and work on Ray.

Begin with `context` and `state`. Imports no other package of Quorum.
"""
