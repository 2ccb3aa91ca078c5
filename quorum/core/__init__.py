"""What every other package uses: a graph's state, the settings (`Context`), errors, sentences.

Begin with `context` and `state`. This package imports no other package of Quorum.
"""
