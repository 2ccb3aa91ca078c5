"""How the embedded reader, its heads, and FILCO's filters and generators are trained.

Begin with `reader`. This package may import all others; only the commands `quorum filter` and `quorum generator`
import it.
"""
