"""Collections of Chroma that another program made. Quorum reads them, and never writes to them.

They do not hold what Quorum records of its own collections, so this module finds it out: which embeddings they hold,
how their vectors are compared, and which of their metadata are a passage's title and source.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.documents.places import find_source
from quorum.retrievers.metadata import OTHER_PROGRAM, CollectionInfo, PassageEntry
from quorum.retrievers.passages import make_plain

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

LOG = logging.getLogger("quorum")
TITLE_KEYS = ("title", "name", "heading", "file_name", "filename")  # the first that a passage has is its title
CHECKED_TEXTS = 3  # stored texts that are embedded again, to see whether the embeddings are those of the collection
RECHECK_SECONDS = 30.0  # how long a collection is taken to be unchanged if its number of passages is the same
# Chroma's names of embedding functions, with the key of their configuration that names the model -> our providers.
PROVIDERS = {
    "openai": ("openai", "model_name"),
    "sentence_transformer": ("huggingface", "model_name"),
    "huggingface": ("huggingface", "model_name"),
    "ollama": ("ollama", "model_name"),
    "mistral": ("mistralai", "model"),
    "cohere": ("cohere", "model_name"),
    "voyageai": ("voyageai", "model_name"),
}
DEFAULT_FUNCTIONS = ("default", "onnx_mini_lm_l6_v2")  # all-MiniLM-L6-v2, which Chroma downloads
EMBEDDED_MODELS = ("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2")


def is_foreign(collection: "Collection") -> bool:
    return "embedding" not in (collection.metadata or {})


def make_foreign_error(name: str) -> SetupError:
    return SetupError(
        f"The collection {name!r} was made by another program, and Quorum only reads it; give another collection, or "
        "index its documents into one of Quorum's own."
    )


def refuse_foreign(collection: "Collection") -> "Collection":
    """The collection, to change it. Raises `SetupError` for another program's."""
    if is_foreign(collection):
        raise make_foreign_error(collection.name)
    return collection


def make_foreign_folder_error(location: str) -> SetupError:
    return SetupError(
        f"The folder {location} is another program's Chroma database, and Quorum only reads it; give another store to "
        "write to: --store DIR."
    )


def read_foreign_info(collection: "Collection", revision: str = "") -> CollectionInfo:
    """What stands in place of the metadata of Quorum's own collections. Reads one vector to know their size, which is 0
    for an empty collection.
    """
    rows: Any = collection.get(limit=1, include=["embeddings"])
    vectors = rows["embeddings"]
    return CollectionInfo(
        embedding=find_recorded_embedding(collection.configuration_json) or "",
        dimension=0 if vectors is None or not len(vectors) else len(vectors[0]),
        revision=revision,
        made_for=OTHER_PROGRAM,
    )


def find_recorded_embedding(configuration: Mapping[str, Any]) -> str | None:
    """The spec of the embeddings that Chroma has recorded for a collection; None if it has recorded none, or some that
    Quorum does not know.

    >>> find_recorded_embedding({"embedding_function": {"type": "known", "name": "default", "config": {}}})
    'embedded'
    """
    function = configuration.get("embedding_function") or {}
    name, config = function.get("name"), function.get("config") or {}
    if name in DEFAULT_FUNCTIONS:
        return "embedded"
    if name not in PROVIDERS:
        return None
    provider, key = PROVIDERS[name]
    model = config.get(key)
    if not isinstance(model, str) or not model:
        return None
    return "embedded" if model.lower() in EMBEDDED_MODELS else f"{provider}:{model}"


def convert_distance(distance: float, collection: "Collection") -> float:
    """The score of a distance: the cosine, or the inner product where the collection compares by it. For vectors of
    length 1 a squared Euclidean distance d is a cosine of 1 - d / 2.
    """
    hnsw = collection.configuration_json.get("hnsw") or collection.configuration_json.get("spann") or {}
    return 1 - distance / 2 if hnsw.get("space", "l2") == "l2" else 1 - distance


def read_foreign_passage(
    id_: str, text: str | None, metadata: Mapping[str, Any] | None, title_key: str | None
) -> Passage:
    """The passage of a row. title_key: the key of the metadata that holds the title; None: the first of TITLE_KEYS that
    it has, or the file name of its source.
    """
    passage = Passage(id=id_, title=read_foreign_entry(metadata, title_key).title, text=text or "")
    if metadata:
        passage["metadata"] = make_plain(metadata)
    return passage


def read_foreign_entry(metadata: Mapping[str, Any] | None, title_key: str | None = None) -> PassageEntry:
    metadata = metadata or {}
    source = find_source(metadata)
    keys = TITLE_KEYS if title_key is None else (title_key,)
    title = next((str(metadata[key]) for key in keys if metadata.get(key) not in (None, "")), "")
    if not title and title_key is None and source:
        title = Path(source).stem
    return PassageEntry(title, "", {source: 0} if source else {})


def check_title_key(title_key: str, rows: Iterable[Mapping[str, Any] | None], name: str) -> None:
    """Raise `SetupError` if no row has the key; its message names the keys that there are."""
    keys: set[str] = set()
    for metadata in rows:
        keys.update(metadata or {})
    if title_key not in keys:
        available = f"its keys are: {', '.join(sorted(keys)[:20])}" if keys else "its passages have no metadata"
        raise SetupError(f"No passage of the collection {name!r} has the metadata {title_key!r}; {available}.")


@dataclass
class Content:
    """What a collection held when it was last read. seconds: how long that took. checked_at: when, by the clock."""

    count: int
    revision: str
    seconds: float
    checked_at: float


class ContentRevisions:
    """Says whether the content of foreign collections has changed, by a hash of it that is kept for a while."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.contents: dict[str, Content] = {}

    def find(self, id_: str, count: int, read_rows: Callable[[], Iterable[Mapping[str, Any]]]) -> str:
        """The revision of a collection with so many passages. Its rows are read if their number has changed, or after
        RECHECK_SECONDS, and after twenty times as long as reading took.
        """
        content = self.contents.get(id_)
        begun_at = self.now()
        if (
            content is None
            or content.count != count
            or begun_at - content.checked_at > max(RECHECK_SECONDS, 20 * content.seconds)
        ):
            digest = hashlib.sha256()
            for row in read_rows():
                digest.update(repr((row["id"], row["document"], sorted((row["metadata"] or {}).items()))).encode())
            content = Content(count, digest.hexdigest()[:12], self.now() - begun_at, self.now())
            self.contents[id_] = content
        return content.revision
