"""What replies say: one file for each contract of a prompt.

Begin with `answers`. Parsers forgive wrapping and never raise. Imports datasets, algorithms and core.
"""
