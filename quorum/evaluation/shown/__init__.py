"""One answer as people see it: the headline, the sentence that supports it, what was searched, the trace of its run.

Begin with `headline` and `support`. The commands, the page, the servers and the report show the same.
"""
