"""How the embedded reader, its heads, and FILCO's filters and generators are trained.

Begin with `reader`. May import everything; only the commands `quorum filter` and `quorum generator` import it.
"""
