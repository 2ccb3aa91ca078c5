"""What embeddings take in a comparison, to index its corpus and to search it, before anything is paid for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import read_passages
from quorum.documents.document import Unreadable
from quorum.evaluation.metrics.prices import Prices, add_costs
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.corpus_files import POOL_SOURCE, is_split_corpus
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.source import Source, list_collections_to_fill, pool_passages
from quorum.models import get_embedding_name
from quorum.models.token_estimate import estimate_tokens

if TYPE_CHECKING:
    from quorum.retrievers.index_settings import IndexSettings

PASSAGES_AT_ONCE = 1000  # which are looked up in the cache of embeddings together


@dataclass(frozen=True)
class IndexingEstimate:
    """What indexing one collection takes. passages: how many it gets; tokens: of the texts that are not in the cache of
    embeddings, at three bytes a token; cost: dollars, None if the embeddings have no price.
    """

    collection: str
    embeddings: str
    passages: int
    tokens: int
    cost: float | None


@dataclass(frozen=True)
class SearchingEstimate:
    """What it takes to embed what is searched for, with the embeddings of a server. tokens: for all questions; cost:
    dollars, None if the embeddings have no price.
    """

    embeddings: str
    tokens: float
    cost: float | None


def estimate_indexing(
    source: Source, dataset: DataSet, columns: Sequence[Column], prices: Prices
) -> list[IndexingEstimate]:
    """What indexing takes, for each collection of the corpus that is not indexed yet. The call reads the corpus, and
    blocks.
    """
    from quorum.retrievers.store import open_store

    estimates = []
    for context, settings in list_collections_to_fill(source, columns) if source.corpus is not None else ():
        info = open_store(context.store).find_info(str(context.collection))
        if info is None or info.is_being_changed:
            estimates.append(estimate_collection(source, dataset, context, settings, prices))
    return estimates


def estimate_collection(
    source: Source, dataset: DataSet, context: Context, settings: "IndexSettings | None", prices: Prices
) -> IndexingEstimate:
    from quorum.retrievers.passages import make_indexed_text

    spec = context.embeddings if isinstance(context.embeddings, str) else type(context.embeddings).__name__
    count = tokens = 0
    passages = iter(list_passages_to_index(source, dataset, settings))
    while texts := [make_indexed_text(passage) for passage in islice(passages, PASSAGES_AT_ONCE)]:
        count += len(texts)
        tokens += count_uncached_tokens(context, texts)
    price = prices.find_embeddings_price(context.embeddings)
    cost = None if price is None else price.compute_cost(tokens, 0)
    return IndexingEstimate(str(context.collection), spec, count, tokens, cost)


def estimate_searching(usage: Mapping[str, Mapping[str, int]], scale: float, prices: Prices) -> list[SearchingEstimate]:
    """What searching takes with each of a server's embeddings. usage: what the rehearsed questions took; scale: how
    many questions there are for each of these.
    """
    estimates = []
    for model, counts in usage.items():
        cost = prices.compute_embedding_cost({model: counts})
        estimates.append(SearchingEstimate(model, counts["tokens"] * scale, None if cost is None else cost * scale))
    return estimates


def count_uncached_tokens(context: Context, texts: Sequence[str]) -> int:
    """An upper estimate of the tokens to embed: those of the texts whose vectors the store's cache does not hold."""
    from quorum.retrievers.embedder import get_indexing_embedder
    from quorum.retrievers.embedding_cache import CachedEmbeddings
    from quorum.retrievers.store import open_store

    spec, embedder = context.embeddings, None
    if isinstance(spec, str) and spec != "embedded":
        embedder = get_indexing_embedder(spec, get_embedding_name(spec), open_store(context.store).folder)
    new = embedder.list_new(texts) if isinstance(embedder, CachedEmbeddings) else texts
    return sum(map(estimate_tokens, new))


def list_passages_to_index(source: Source, dataset: DataSet, settings: "IndexSettings | None") -> Iterable[Passage]:
    """The passages of the corpus, as `quorum.evaluation.run.source.index_corpus` will index them."""
    if source.corpus == POOL_SOURCE:
        return pool_passages(dataset.path, [] if source.skip_bad else None)
    path = Path(str(source.corpus))
    return read_documents(path, settings) if is_split_corpus(path) else read_passages(path)


def read_documents(path: Path, settings: "IndexSettings | None") -> Iterator[Passage]:
    """The passages of a folder or file of documents; what cannot be read has none."""
    from quorum.documents.find_files import find_files, resolve_path
    from quorum.documents.guarded_reading import TIME_LIMIT, get_shared_reader, read_ahead
    from quorum.documents.pieces import split_passage
    from quorum.documents.read import is_passage_file, read_passage_lines
    from quorum.retrievers.added_context import OUTLINE
    from quorum.retrievers.index_settings import IndexSettings

    chosen = settings or IndexSettings()
    words, outline = chosen.words, chosen.context == OUTLINE
    files, _ = find_files([resolve_path(path)])
    for file in filter(is_passage_file, files):
        for _, passage in read_passage_lines(file):
            if not isinstance(passage, str):
                yield from split_passage(passage, words, outline=outline)
    documents = [file for file in files if not is_passage_file(file)]
    with closing(read_ahead(documents, words, get_shared_reader(TIME_LIMIT), outline=outline)) as read:
        for _, future in read:
            try:
                yield from future.result()[0]
            except (Unreadable, UnicodeEncodeError):
                continue


def sum_cost(estimates: Sequence[IndexingEstimate | SearchingEstimate]) -> float | None:
    """Dollars for all; None if a price is missing."""
    return add_costs([estimate.cost for estimate in estimates])
