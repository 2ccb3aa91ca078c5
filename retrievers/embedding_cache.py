"""Keeps the vectors of texts on the local disk, so that no text is embedded twice by the same embeddings.

All collections of a store share one SQLite file. A vector is found by a hash of the embeddings' name and the text.
SQLite makes every write atomic, so a crash loses at most the last batch. The file may be removed at any time.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from quorum.core.private_files import make_private_file
from quorum.models.embedding_batches import TextsRefused
from quorum.models.vectors import embed_texts

CACHE_FILE = "embeddings.sqlite3"
MAX_CACHE_BYTES = 4_000_000_000
KEYS_PER_QUERY = 500  # keys that one SQL query looks up
LOG = logging.getLogger("quorum")


class CachedEmbeddings(Embeddings):
    """Embeddings that look up each text in a cache first. Passages are cached, questions are not.

    create: returns the model; called for every question, for texts that are not in the cache, and for `similarity`.
    name: the name of the embeddings, which must include everything that their vectors depend on. folder: where the
    cache is. max_bytes: if the file holds more, the next write removes the oldest half of the vectors first. If the
    cache cannot be used, every text is embedded.
    """

    def __init__(
        self, create: Callable[[], Embeddings], name: str, folder: Path, max_bytes: int = MAX_CACHE_BYTES
    ) -> None:
        self.create, self.name, self.file, self.max_bytes = create, name, folder / CACHE_FILE, max_bytes
        self.is_usable = True

    @property
    def similarity(self) -> str | None:
        """The similarity that the model was trained for, such as "dot"; None if the model does not state it."""
        return getattr(self.create(), "similarity", None)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        keys = [self.make_key(text) for text in texts]
        vectors_of_keys = self.read(list(dict.fromkeys(keys)))
        new_texts = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors_of_keys}
        if new_texts:
            try:
                vectors = np.asarray(embed_texts(self.create(), list(new_texts.values())), dtype=np.float32)
            except TextsRefused as refusal:
                self.write(
                    {
                        self.make_key(text): np.asarray(vector, dtype=np.float32)
                        for text, vector in refusal.vectors.items()
                    }
                )
                raise
            computed_vectors = dict(zip(new_texts, vectors, strict=True))
            self.write(computed_vectors)
            vectors_of_keys |= computed_vectors
        return [vectors_of_keys[key].tolist() for key in keys]

    def embed_query(self, text: str) -> list[float]:
        return self.create().embed_query(text)

    def list_new(self, texts: Sequence[str]) -> list[str]:
        """Those of the texts that are not in the cache."""
        text_by_key = {self.make_key(text): text for text in texts}
        known = self.read(list(text_by_key))
        return [text for key, text in text_by_key.items() if key not in known]

    def make_key(self, text: str) -> bytes:
        """16 bytes that identify a text under these embeddings."""
        return blake2b(f"{self.name}\0{text}".encode(errors="surrogatepass"), digest_size=16).digest()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """{key: vector} for those of the keys that the cache holds; empty if it cannot be used."""
        vectors: dict[bytes, NDArray[np.float32]] = {}
        if not self.is_usable or not self.file.exists():
            return vectors
        try:
            with closing(self.connect()) as database:
                for begin in range(0, len(keys), KEYS_PER_QUERY):
                    batch = keys[begin : begin + KEYS_PER_QUERY]
                    placeholders = ",".join("?" * len(batch))
                    rows = database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({placeholders})", batch)
                    read_vectors = ((bytes(key), np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
                    # The text of a useless vector, which the file may hold, is embedded again.
                    vectors |= {key: one for key, one in read_vectors if np.isfinite(one).all() and one.any()}
        except (sqlite3.Error, ValueError) as error:
            self.disable_cache(error)
            return {}
        return vectors

    def write(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        """Add vectors to the cache, and make room for them first if it holds too much."""
        if not self.is_usable:
            return
        try:
            if not self.file.exists():
                make_private_file(self.file)
            with closing(self.connect()) as database, database:
                if count_used_bytes(database) > self.max_bytes:
                    database.execute("DELETE FROM vectors WHERE rowid < (SELECT AVG(rowid) FROM vectors)")
                rows = ((key, vector.astype("<f4").tobytes()) for key, vector in vectors.items())
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self.disable_cache(error)

    def connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.file, timeout=30)
        try:
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        except BaseException:
            database.close()
            raise
        return database

    def disable_cache(self, error: Exception) -> None:
        """Stop using the cache, and log a warning with the reason."""
        self.is_usable = False
        LOG.warning(
            "The cache of vectors %s cannot be used (%s), so every text is embedded; if it is damaged, remove it.",
            self.file,
            error,
        )


def remove_vectors(file: Path, keys: Sequence[bytes]) -> None:
    """Remove the vectors of these keys from a cache, and overwrite their bytes in the file."""
    if not file.exists() or not keys:
        return
    try:
        with closing(sqlite3.connect(file, timeout=30)) as database, database:
            database.execute("PRAGMA secure_delete = ON").close()
            database.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key in keys])
    except sqlite3.Error as error:
        LOG.warning("The vectors of a removed collection stay in %s (%s); remove that file.", file, error)


def count_used_bytes(database: sqlite3.Connection) -> int:
    """The size of a database without its free pages, which deleting rows leaves in the file."""
    size, pages, free = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (pages - free))
