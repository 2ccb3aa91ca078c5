"""The models that `GET /v1/models` lists: few enough to choose from in a chat window."""

from quorum.graphs.catalogue import DEFAULT_METHOD
from quorum.serving.permissions import Permissions, ServedModel

# One answer from all passages, with a vote where these are not enough; the two halves of it; and choosing among
# candidates. Every other method can be asked, too.
SHORT_LIST = (DEFAULT_METHOD, "concat", "post_fusion", "sure")


def list_models(permissions: Permissions) -> list[ServedModel]:
    """A short list: over the client's own collection, as METHOD, and over each other one, as METHOD@COLLECTION.

    Of the methods, it has those that the client's token names; without such a token those of SHORT_LIST and the
    cascades, and over the other collections only the default method. It reads the store, so async callers run it in a
    thread.
    """
    methods, own = permissions.list_methods(), permissions.find_own_collection()
    others = [name for name in permissions.list_collections() if name != own]
    chosen = methods if permissions.token_methods is not None else {*SHORT_LIST, *permissions.cascades}
    names = [name for name in (*SHORT_LIST, *methods) if name in methods and name in chosen]
    names = list(dict.fromkeys(names))
    names_of_others = names if permissions.token_methods is not None else [permissions.default_method]
    models = [ServedModel(name, name, own) for name in names if own]
    return models + [ServedModel(f"{name}@{other}", name, other) for other in others for name in names_of_others]


def list_all_models(permissions: Permissions) -> list[ServedModel]:
    """Every method that the client may ask, as METHOD and as METHOD@COLLECTION. It reads the store, too."""
    own, methods = permissions.find_own_collection(), permissions.list_methods()
    collections = permissions.list_collections()
    return [ServedModel(name, name, own) for name in methods if own] + [
        ServedModel(f"{method}@{name}", method, name) for method in methods for name in collections
    ]
