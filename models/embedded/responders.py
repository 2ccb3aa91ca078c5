"""Every prompt that the embedded reader serves, by name."""

from models.embedded import replies, replies_blend
from models.embedded.replies import Responder

RESPONDERS: dict[str, Responder] = {**replies.RESPONDERS, **replies_blend.RESPONDERS}
