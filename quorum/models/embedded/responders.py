"""RESPONDERS: the name of each prompt -> the function that writes the embedded reader's reply to it, or the sentence
with which the reader refuses.

Each prompt registers its own (`offline` of `quorum.prompts.prompt.Prompt`), because this package imports no prompts.
"""

from quorum.models.embedded.replies import Responder

__all__ = ["RESPONDERS", "Responder"]

RESPONDERS: dict[str, Responder | str] = {}
