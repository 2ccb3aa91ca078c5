"""The nodes of the graphs: one verb each, one step of a method.

Begin with `begin`, then `routes`, which holds every branch. Imports retrievers, parsing, prompts, models and
the layers below models.
"""
