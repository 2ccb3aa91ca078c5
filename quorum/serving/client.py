"""Who sends a request, as all rooms of the server know it: `request.state.client`."""

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True)
class Client:
    """Who sends a request. `AccessControl` puts it into `request.state.client` before any handler runs.

    id: under which usage is counted and runs are kept; name: for logs and metrics, never a key or a part of one;
    is_owner: whether it may do everything, as who runs the server.
    """

    id: str
    name: str
    is_owner: bool = False


LOCAL = Client("local", "local", is_owner=True)  # all clients of a server without keys
HEALTH = Client("health", "health")  # monitoring, which needs no key


def make_key_client(key: str, index: int) -> Client:
    """The client with the key of that index among those of --token; the first is the owner's."""
    id_ = sha256(b"quorum key " + key.encode()).hexdigest()[:16]
    return Client(id_, "owner" if index == 0 else f"key {index + 1}", is_owner=index == 0)
