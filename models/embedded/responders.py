"""Every prompt that the embedded reader serves, by name."""

from models.embedded import replies
from models.embedded.replies import Responder

RESPONDERS: dict[str, Responder] = {**replies.RESPONDERS}
