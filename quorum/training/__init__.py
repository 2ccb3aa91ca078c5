"""How the embedded reader, its heads, and FILCO's filters and generators are trained.

Begin with `reader`. May import everything; nothing at run time imports it.
"""
