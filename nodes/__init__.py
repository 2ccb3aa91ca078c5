"""One verb for each file: what a state machine does in one step.

Begin with `begin`, then `routes`, which holds every branch. Imports retrievers, parsing, prompts, models and below.
"""
