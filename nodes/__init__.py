"""The nodes of the graphs. Each node is a function that does one step of a method.

Begin with `begin`, then `routes`, which holds every branch. The nodes import only retrievers, parsing, prompts,
models and the layers below models.
"""
