"""Pure functions without I/O: votes and their certificates, how the method SuRe chooses among candidate answers,
TF-IDF, FILCO's measures, and the statistics behind comparisons, abstention and cascades.

Begin with `votes`. This package imports only core.
"""
