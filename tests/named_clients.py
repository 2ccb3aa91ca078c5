"""What tests of a team's tokens share: a store with open and hidden documents, and a token file that they change."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from quorum import Context, index
from quorum.serving.named_tokens import NamedToken, change_token_file, hash_token

OWNER = "the-key-of-the-owner-of-it"
OPEN_TEXT = "The Lumen Tower was finished in 1931."
HIDDEN_TEXT = "The vault of the Lumen Tower opens with 7733. The Hidden Stair was built by Vera Stone."
PRIVATE_TEXT = "The safe of the Iron Mast opens with the number 4471."
SECRETS = (
    "7733",
    "Hidden Stair",
    "4471",
    "Iron Mast",
    "vault",
    "hidden.txt",
    "private",
    "mast.txt",
)  # no response holds one of them


def make_store(folder: Path) -> Path:
    """A store with the collections towers (an open and a hidden document) and private."""
    for collection, files in (
        ("towers", {"open": OPEN_TEXT, "hidden": HIDDEN_TEXT}),
        ("private", {"mast": PRIVATE_TEXT}),
    ):
        documents = folder / f"{collection}-files"
        documents.mkdir()
        for name, text in files.items():
            (documents / f"{name}.txt").write_text(text)
        index(documents, collection=collection, context=Context(store=str(folder / "store")))
    return folder / "store"


class TeamFile:
    """A token file that a test changes while a server reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, name: str, **rights: Any) -> str:
        """Add a name; returns its token."""
        token = f"quorum_token_of_{name}"
        with change_token_file(self.path) as tokens:
            tokens.append(NamedToken(name, hash_token(token), **rights))
        return token

    def change(self, name: str, **rights: Any) -> None:
        with change_token_file(self.path) as tokens:
            tokens[:] = [replace(token, **rights) if token.name == name else token for token in tokens]

    def revoke(self, name: str) -> None:
        with change_token_file(self.path) as tokens:
            tokens[:] = [token for token in tokens if token.name != name]

    def write(self, **entry: Any) -> None:
        """Write a file with one entry as it stands."""
        whole = {"name": "alice", "hash": "0" * 64} | entry
        self.path.write_text(json.dumps({"format": "quorum tokens 1", "tokens": [whole]}))
