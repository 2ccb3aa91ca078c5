"""The settings with which documents are indexed, as `--index 'words=200'` names them, in the one place for them."""

import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from quorum.core.bracketed_settings import parse_settings
from quorum.core.errors import SetupError
from quorum.retrievers.added_context import NO_CONTEXT, check_added_context
from quorum.retrievers.collection_names import NAME
from quorum.retrievers.index import check_words

LONGEST_FOLDER_NAME = 40  # characters of it in a collection's name


@dataclass(frozen=True)
class IndexSettings:
    """How documents become passages, and what of them is searched."""

    words: int = 100
    """The most words of a passage, from 5 on."""
    context: str = NO_CONTEXT
    """What is indexed with each passage but not shown: "outline" for the first sentence of its section, or "none"."""

    def __post_init__(self) -> None:
        check_words(self.words)
        check_added_context(self.context)

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings as parameters of `quorum.retrievers.index.index_documents`."""
        return {"words": self.words, "add_context": self.context}

    @property
    def chosen(self) -> dict[str, str | int]:
        """The settings that differ from the defaults; `words` if none does.

        >>> IndexSettings(words=60).chosen, IndexSettings().chosen
        ({'words': 60}, {'words': 100})
        """
        defaults = asdict(IndexSettings())
        return {name: value for name, value in asdict(self).items() if value != defaults[name]} or {"words": self.words}

    @property
    def label(self) -> str:
        """The chosen settings as they stand in brackets.

        >>> IndexSettings(words=200, context="outline").label
        'words=200;context=outline'
        """
        return ";".join(f"{name}={value}" for name, value in self.chosen.items())

    def name_collection(self, folder: str, content_hash: str) -> str:
        """The name of the collection of a folder (or file) with these settings. content_hash: of its documents and the
        embeddings, so that other content gets another collection.

        >>> IndexSettings(words=60).name_collection("Staff handbook", "1a2b3c4d")
        'Staff-handbook-words-60-1a2b3c4d'
        """
        settings = "-".join(f"{name}-{value}" for name, value in self.chosen.items())
        stem = re.sub(r"[^a-zA-Z0-9]+", "-", folder)[:LONGEST_FOLDER_NAME].strip("-")
        name = "-".join(part for part in (stem, settings, content_hash) if part)
        return name if NAME.fullmatch(name) else f"index-{settings}-{content_hash}"


def parse_index_settings(text: str) -> IndexSettings:
    """The settings in a text such as "words=60". Raises `SetupError` for an unknown setting and for a value that does
    not fit.

    >>> parse_index_settings("words=60").words
    60
    """
    texts = parse_settings(text.split(";"))
    if not texts:
        raise SetupError(f"--index {text!r} names no setting; write for example --index words=60.")
    types = {field.name: field.type for field in fields(IndexSettings)}
    values: dict[str, str | int] = {}
    for name, value in texts.items():
        if name not in types:
            raise SetupError(f"--index {text!r} sets {name!r}; the settings of an index are: {', '.join(types)}.")
        if types[name] is not int:
            values[name] = value
        elif value.isascii() and value.isdigit():
            values[name] = int(value)
        else:
            raise SetupError(f"--index {text!r} does not fit; give a whole number for {name}, such as {name}=60.")
    return IndexSettings(**values)  # type: ignore[arg-type]  # checked above, by the fields' types
