"""The report of a comparison, as a page, as text and as tables; results for LangSmith.

Begin reading with write.py. This package may import quorum.graphs and the packages below quorum.graphs.
"""
