"""The report of a comparison, as a page, as text and as tables.

Begin with `write`. Imports graphs and below.
"""
