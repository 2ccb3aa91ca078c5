"""Pure functions without I/O: votes and their certificates, SuRe's choice, TF-IDF, FILCO's measures.

Begin with `votes`. Imports core only.
"""
