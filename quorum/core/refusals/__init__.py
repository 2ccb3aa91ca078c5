"""Decides whether an answer says that there is no answer (`unknown`), by patterns of refusals (`refusal_patterns`)."""
