"""Several indexes of one corpus as columns (`--index words=60 --index words=200`): each becomes a collection, which is
kept in the store and used again while corpus and settings are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.core.errors import SetupError
from quorum.evaluation.run.corpus_files import (
    GIVEN_SOURCE,
    POOL_SOURCE,
    compute_short_hash,
    hash_corpus,
    is_split_corpus,
)
from quorum.models import get_embedding_name

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.retrievers.index_settings import IndexSettings

NAME_HASH_LENGTH = 8


@dataclass(frozen=True)
class CorpusIndexes:
    """The indexes of a corpus. corpus: a folder or file of documents; sha256: identifies its content; settings: of each
    index.
    """

    corpus: Path
    sha256: str
    settings: Sequence["IndexSettings"]

    def name_collections(self, context: "Context") -> "dict[str, IndexSettings]":
        """The collection of each index, with the context's embeddings."""
        content = compute_short_hash([self.sha256, get_embedding_name(context.embeddings)])[:NAME_HASH_LENGTH]
        return {settings.name_collection(self.corpus.resolve().name, content): settings for settings in self.settings}


def find_corpus_indexes(names: Sequence[str], corpus: str | None) -> CorpusIndexes | None:
    """The indexes of a corpus that --index names; None if it names none. The call reads the corpus, and blocks.

    Raises `SetupError` for a setting that is wrong or given twice, and for a corpus that is not made of documents.
    """
    if not names:
        return None
    from quorum.retrievers.index_settings import parse_index_settings

    settings = [parse_index_settings(text) for text in names]
    if len(set(settings)) < len(settings):
        raise SetupError(f"--index {', --index '.join(names)} names an index twice; name each one once.")
    if corpus in (None, GIVEN_SOURCE, POOL_SOURCE) or not Path(str(corpus)).exists():
        raise SetupError(
            f"--index splits documents, but the corpus is {corpus or 'missing'}; give a folder or a file of documents."
        )
    if not is_split_corpus(Path(str(corpus))):
        raise SetupError(
            f"--index splits documents, but {corpus} holds passages, which stay whole; give a folder of documents."
        )
    return CorpusIndexes(Path(str(corpus)), hash_corpus(Path(str(corpus))), settings)


def list_indexed(indexes: CorpusIndexes | None, context: "Context") -> "Mapping[str, IndexSettings]":
    """The collections of the indexes, for a context; none without indexes."""
    return {} if indexes is None else indexes.name_collections(context)
