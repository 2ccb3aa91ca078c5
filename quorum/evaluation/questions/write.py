"""Writes questions with answers and gold passages from a corpus, by a model, for users who have no questions.

We draw one or two passages and write a question about them. We keep an answerable question only if all its passages are
needed to answer it, and an unanswerable one only if neither its passages nor retrieved ones answer it.

The draws and the order of the checks depend only on the seed and the replies: with the journal, the same command writes
the same questions again and pays for nothing twice.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.evaluation.compare.prices import Prices, check_limit
from quorum.evaluation.compare.spending_limit import LimitedSpending
from quorum.evaluation.questions.check import Draft, get_verifier
from quorum.evaluation.questions.draft_writer import DraftWriter, get_prompt_name
from quorum.evaluation.questions.draw import (
    QUESTION_KINDS,
    DrawQueue,
    Kind,
    NeighbourSearch,
    select_long_passages,
    split_by_mix,
)
from quorum.evaluation.questions.estimate import Estimate, estimate
from quorum.evaluation.questions.file import QuestionFile
from quorum.evaluation.run.plan import check_models
from quorum.evaluation.run.source import (
    ProgressCallback,
    Source,
    fill_collection,
    hash_corpus,
    ignore_progress,
    make_collection_name,
)
from quorum.models.chat import chat_model_async
from quorum.nodes.describe_settings import get_text_or_class_name
from quorum.prompts import get_version

MOST_DRAFTS = 4  # the most drafts for each wanted question
LOWEST_F1 = 0.6  # token F1: an answer of two words may lack one (.67), but none may be replaced (.5)
DEFAULT_MIX: Mapping[Kind, float] = {"single": 70, "two": 15, "unanswerable": 15}


@dataclass(frozen=True)
class Options:
    """The request: `n` questions in the file, of the kinds in `mix`.

    min_words: the fewest words of a passage; threshold: token F1 from which an answer counts as right; writes_rejected:
    also write rejected questions, with keep: false; max_cost: dollars that this run may spend.
    """

    n: int = 100
    mix: Mapping[Kind, float] = field(default_factory=lambda: DEFAULT_MIX)
    min_words: int = 20
    threshold: float = LOWEST_F1
    writes_rejected: bool = False
    concurrency: int = 8
    max_cost: float | None = None
    prices: Path | None = None

    def __post_init__(self) -> None:
        for name, value in (("n", self.n), ("concurrency", self.concurrency), ("min-words", self.min_words)):
            if value < 1:
                raise SetupError(f"--{name} {value} does not fit; give a number from 1 on.")
        if not 0 < self.threshold <= 1:
            raise SetupError(f"--threshold {self.threshold:g} does not fit; give a token F1 above 0, at most 1.")
        if self.max_cost is not None and not self.max_cost >= 0:
            raise SetupError(f"--max-cost {self.max_cost} does not fit; give dollars, from 0 on.")


@dataclass(frozen=True)
class Plan:
    """Everything that the run needs: settings with the collection, its passages, the file, the estimate."""

    context: Context
    options: Options
    passages: Sequence[Passage]
    file: QuestionFile
    estimate: Estimate

    @property
    def wanted_counts(self) -> dict[Kind, int]:
        return split_by_mix(self.options.n, self.options.mix)


@dataclass(frozen=True)
class WrittenQuestions:
    """The result. kept_counts: by kind, how many kept questions the file has now; count_before: how many of them it had
    before this run; draft_count: how many drafts this run wrote; faults: by fault, how many of these were rejected;
    end_reasons: why a kind has too few questions, "corpus" (no passages left) or "tries" (MOST_DRAFTS for each question
    were written); error: the message of the first failed call.
    """

    path: Path
    wanted_counts: dict[Kind, int]
    kept_counts: dict[Kind, int]
    count_before: int
    draft_count: int
    faults: Counter[str]
    end_reasons: dict[Kind, str]
    error: str | None
    spending: LimitedSpending


async def plan_questions(
    corpus: str | None,
    collection: str | None,
    context: Context,
    options: Options,
    out: Path,
    *,
    progress: ProgressCallback = ignore_progress,
) -> Plan:
    """Check everything that can be wrong, index the corpus if it is not indexed yet, and estimate.

    Raises SetupError for a model that cannot write questions, a corpus without passages, a file of another corpus, and
    an estimate above `max_cost`.
    """
    await check_writer(context)
    file = await asyncio.to_thread(QuestionFile, out)
    context = await prepare_collection(corpus, collection, context, progress)
    passages_of_collection = await asyncio.to_thread(read_collection, context)
    passages = select_long_passages(passages_of_collection, options.min_words)
    name = corpus or f"the collection {collection!r}"
    if not passages:
        raise SetupError(
            f"{name} holds no passage of {options.min_words} words or more; give more text, or take shorter passages "
            "with --min-words."
        )
    file.check_corpus(passages_of_collection, name)
    wanted_counts = split_by_mix(options.n, options.mix)
    missing_counts = count_missing(wanted_counts, file.count_kept_by_kind())
    cost_estimate = estimate(
        missing_counts, MOST_DRAFTS, passages, context, Prices(options.prices), options.concurrency
    )
    check_limit(
        cost_estimate.cost,
        options.max_cost,
        basis=" even if every draft is kept",
        instead="ask for fewer questions with --n",
    )
    return Plan(context, options, passages, file, cost_estimate)


async def check_writer(context: Context) -> None:
    """Raises SetupError if the model cannot be used or cannot write questions."""
    if context.answer_type != "short":
        raise SetupError(
            f"Questions are written only with short answers, but answer_type={context.answer_type!r} is set; leave "
            "it out."
        )
    await check_models(context)
    if getattr(await chat_model_async(context.model, context), "reads_prompt_inputs", False):
        raise SetupError(
            "The model 'embedded' cannot write questions: it can only find text; choose a chat model, for example "
            "--model openai:gpt-4o-mini, or openai:NAME with OPENAI_BASE_URL for your own server."
        )


async def prepare_collection(
    corpus: str | None, collection: str | None, context: Context, progress: ProgressCallback
) -> Context:
    """The context with the collection that holds the passages. Indexes a corpus that is not indexed yet."""
    if (corpus is None) == (collection is None):
        raise SetupError(
            "Name where the passages are: a folder of documents or a file of passages, or --collection NAME, one of "
            f"them{'' if corpus is None else f' (given are {corpus} and {collection})'}."
        )
    if corpus is None:
        return replace(context, collection=str(collection))
    source = await asyncio.to_thread(make_corpus_source, corpus)
    name = await asyncio.to_thread(make_collection_name, source, context)
    context = replace(context, collection=name)
    await fill_collection(source, None, context, progress)
    return context


def make_corpus_source(corpus: str) -> Source:
    """The source that an evaluation of this corpus has, so that both use one collection. Blocks while it reads."""
    if not Path(corpus).exists():
        raise SetupError(f"There is no corpus {corpus}; give a folder of documents, or a .jsonl or .jsonl.gz file.")
    return Source(corpus, None, hash_corpus(Path(corpus)))


def read_collection(context: Context) -> list[Passage]:
    """The passages of the collection. Blocks while it reads them."""
    from quorum.retrievers.collections import list_passages

    return list_passages(context)


async def make_questions(writing_plan: Plan, *, progress: ProgressCallback = ignore_progress) -> WrittenQuestions:
    """Write questions, round by round, until the file holds the wanted number; the file is saved after each round."""
    context, options, file, wanted_counts = (
        writing_plan.context,
        writing_plan.options,
        writing_plan.file,
        writing_plan.wanted_counts,
    )
    spending = LimitedSpending(Prices(options.prices), options.max_cost)
    faults, draft_count, error = Counter[str](), 0, None
    models_and_prompt_of_kind = await asyncio.to_thread(describe_models, context)
    with file.lock():
        count_before = sum(file.count_kept_by_kind().values())
        remaining_drafts = {
            kind: MOST_DRAFTS * wanted_counts[kind] - try_count for kind, try_count in file.count_all_by_kind().items()
        }
        queue = DrawQueue(
            writing_plan.passages, context.seed, make_neighbour_search(context), file.ids, remaining_drafts
        )
        writer = DraftWriter(
            context, options.threshold, file.list_question_texts(), {"callbacks": [spending]}, options.concurrency
        )
        while batch := await asyncio.to_thread(
            queue.take_draws, count_missing(wanted_counts, file.count_kept_by_kind())
        ):
            drafts = await writer.write_drafts(batch)
            draft_count += len(drafts)
            faults.update(draft.fault for draft in drafts if draft.fault is not None)
            error = error or next((draft.error for draft in drafts if draft.error is not None), None)
            if drafts_for_file := [draft for draft in drafts if is_for_file(draft, options)]:
                await asyncio.to_thread(file.add, drafts_for_file, models_and_prompt_of_kind)
            progress("write", sum(file.count_kept_by_kind().values()), options.n)
    end_reasons = {kind: queue.end_reasons[kind] for kind in count_missing(wanted_counts, file.count_kept_by_kind())}
    return WrittenQuestions(
        file.path,
        wanted_counts,
        file.count_kept_by_kind(),
        count_before,
        draft_count,
        faults,
        end_reasons,
        error,
        spending,
    )


def count_missing(wanted_counts: Mapping[Kind, int], kept_counts: Mapping[Kind, int]) -> dict[Kind, int]:
    """How many questions are still missing, by kind."""
    return {
        kind: wanted_counts[kind] - kept_counts[kind]
        for kind in QUESTION_KINDS
        if wanted_counts[kind] > kept_counts[kind]
    }


def is_for_file(draft: Draft, options: Options) -> bool:
    """Whether a draft gets a line in the file. A kept one does; with `writes_rejected`, so does a rejected one that has
    a question, unless a call failed.
    """
    return draft.fault is None or (options.writes_rejected and bool(draft.question) and draft.fault != "failed")


def make_neighbour_search(context: Context) -> NeighbourSearch:
    """BM25 over the collection; the first search builds the index. A search blocks."""
    from quorum.retrievers.bm25_cache import load_bm25_index
    from quorum.retrievers.store import open_store

    return lambda text, k: load_bm25_index(open_store(context.store), context.collection).find_best(text, k)


def describe_models(context: Context) -> dict[Kind, dict[str, str]]:
    """The models and prompts that wrote and checked the questions of each kind, for their `meta`."""
    models = {"model": get_text_or_class_name(context.model), "verifier": get_text_or_class_name(get_verifier(context))}
    return {
        kind: {
            **models,
            "prompt": get_prompt_name(kind),
            "version": get_version(get_prompt_name(kind), context.prompts),
        }
        for kind in QUESTION_KINDS
    }
