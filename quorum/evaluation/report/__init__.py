"""The report of a comparison, as a page, as text and as tables.

Begin with `write`. This package imports quorum.graphs and the packages below it.
"""
