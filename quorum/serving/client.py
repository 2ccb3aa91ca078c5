"""Who sends a request, as all rooms of the server know it: `request.state.client`."""

from dataclasses import dataclass
from hashlib import sha256

from quorum.serving.named_tokens import NamedToken


@dataclass(frozen=True)
class Client:
    """Who sends a request. `AccessControl` puts it into `request.state.client` before any handler runs.

    id: under which usage is counted and runs are kept; name: for logs and metrics, never a key or a part of one;
    is_owner: whether it may do everything, as who runs the server. token: its entry in the token file, which says what
    it may ask; None for other clients, which may ask all that is served.
    """

    id: str
    name: str
    is_owner: bool = False
    token: NamedToken | None = None


LOCAL = Client("local", "local", is_owner=True)  # all clients of a server without keys
HEALTH = Client("health", "health")  # monitoring, which needs no key


def make_key_client(key: str, index: int) -> Client:
    """The client with the key of that index among those of --token; the first is the owner's."""
    id_ = sha256(b"quorum key " + key.encode()).hexdigest()[:16]
    return Client(id_, "owner" if index == 0 else f"key {index + 1}", is_owner=index == 0)


def make_named_client(token: NamedToken) -> Client:
    """The client of an entry of the token file. A new token of the same name is the same client."""
    return Client(f"name {token.name}", token.name, token=token)
