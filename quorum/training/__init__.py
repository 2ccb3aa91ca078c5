"""How FILCO's filters and generators are trained; only the commands `quorum filter` and `quorum generator` import it.

The embedded reader is trained by the package `training` of a checkout, which uses parts of this one.
"""
