"""Has a model write questions about a corpus, with answers and gold passages, for users who have no questions.

We draw one or two passages and write a question about them. We keep an answerable question only if all its passages are
needed to answer it. We keep an unanswerable question only if neither its passages nor retrieved passages answer it.

The draws and the order of the checks depend only on the seed and the replies. So the same command, with the journal,
writes the same questions again and pays for no call twice.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.evaluation.compare.spending_limit import LimitedSpending
from quorum.evaluation.metrics.prices import Prices, check_limit
from quorum.evaluation.questions.check import Draft, get_verifier
from quorum.evaluation.questions.draft_writer import DraftWriter
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
from quorum.evaluation.run.corpus_files import hash_corpus
from quorum.evaluation.run.source import (
    ProgressCallback,
    Source,
    fill_collection,
    ignore_progress,
    make_collection_name,
)
from quorum.models.chat import chat_model_async
from quorum.models.check_models import check_models
from quorum.models.embedding_requests import pay_for_embeddings
from quorum.nodes.describe_settings import get_text_or_class_name
from quorum.prompts import get_version
from quorum.prompts.evaluation import QUESTION_PROMPTS

MOST_DRAFTS = 4  # the most drafts for each wanted question
# The token F1 from which an answer counts as right. If the right answer has two words, one of them alone passes (0.67),
# but one of them with a wrong word does not (0.5).
LOWEST_F1 = 0.6
DEFAULT_MIX: Mapping[Kind, float] = {"single": 70, "two": 15, "unanswerable": 15}


@dataclass(frozen=True)
class Options:
    """The user's request.

    n: how many questions the file shall hold; mix: the share of each kind among them; min_words: passages with fewer
    words are not drawn; threshold: the token F1 from which the verifier's answer counts as right; writes_rejected: also
    write the rejected questions to the file, with keep: false; concurrency: how many drafts are written and checked at
    once; max_cost: the dollars that this run may spend; prices: a file with the models' prices.
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
    """Everything that the run needs.

    context: the settings, with the collection that holds the corpus; passages: the passages of this collection
    that are long enough; file: the file of questions to write or to continue; spending: counts what the plan and its
    run spend.
    """

    context: Context
    options: Options
    passages: Sequence[Passage]
    file: QuestionFile
    estimate: Estimate
    spending: LimitedSpending

    @property
    def wanted_counts(self) -> dict[Kind, int]:
        """How many questions of each kind the file shall hold."""
        return split_by_mix(self.options.n, self.options.mix)


@dataclass(frozen=True)
class WrittenQuestions:
    """What a run has written.

    path: the file; wanted_counts: how many questions of each kind it was to hold; kept_counts: how many kept questions
    of each kind it holds now; count_before: how many kept questions it held before this run; draft_count: how many
    drafts this run wrote; faults: how many of these drafts were rejected for each fault; end_reasons: for each kind
    with too few questions, the reason: "corpus" (no passages are left to draw) or "tries" (MOST_DRAFTS drafts for each
    wanted question were written); error: the message of the first failed call; spending: what this run spent.
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
    """Check everything that can be wrong, index the corpus if it is not indexed yet, and estimate calls and cost.

    Raises SetupError for a model that cannot write questions, a corpus without passages that are long enough, a file
    with questions about another corpus, and an estimate above `max_cost`.
    """
    await check_writer(context)
    context = replace(context, answer_type="short")  # a draft is kept if methods give its short answer
    file = await asyncio.to_thread(QuestionFile, out)
    prices = Prices(options.prices)
    spending = LimitedSpending(prices, options.max_cost)
    with pay_for_embeddings(spending):
        context = await prepare_collection(corpus, collection, context, progress)
    passages_of_collection = await asyncio.to_thread(read_collection, context)
    passages = select_long_passages(passages_of_collection, options.min_words)
    corpus_name = corpus or f"the collection {context.collection!r}"
    if not passages:
        raise SetupError(
            f"{corpus_name} holds no passage of {options.min_words} words or more; give more text, or allow shorter "
            "passages with --min-words."
        )
    file.check_corpus(passages_of_collection, corpus_name)
    wanted_counts = split_by_mix(options.n, options.mix)
    missing_counts = count_missing(wanted_counts, file.count_kept_by_kind())
    cost_estimate = estimate(missing_counts, MOST_DRAFTS, passages, context, prices, options.concurrency)
    check_limit(
        None if cost_estimate.cost is None else cost_estimate.cost + spending.cost,
        options.max_cost,
        basis=" even if every draft is kept",
        instead="ask for fewer questions with --n",
    )
    return Plan(context, options, passages, file, cost_estimate, spending)


async def check_writer(context: Context) -> None:
    """Raises SetupError if answer_type is neither "auto" nor "short", and if the model cannot be used or cannot write
    questions.
    """
    if context.answer_type not in ("auto", "short"):
        raise SetupError(
            f"Questions are written only with short answers, but answer_type={context.answer_type!r} is set; leave "
            "this setting out."
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
    """The context with the collection that holds the passages, and with its store. Indexes a corpus that is not indexed
    yet. Without a corpus and a collection, it is the collection that the context asks.
    """
    if corpus is not None and collection is not None:
        raise SetupError(
            "Name one place of the passages: a folder of documents, a file of passages, or --collection NAME (given "
            f"are {corpus} and {collection})."
        )
    if corpus is None:
        from quorum.retrievers.choose_collection import locate_collection

        return await asyncio.to_thread(locate_collection, replace(context, collection=collection or context.collection))
    source = await asyncio.to_thread(make_corpus_source, corpus)
    name = await asyncio.to_thread(make_collection_name, source, context)
    context = replace(context, collection=name)
    await fill_collection(source, None, context, progress)
    return context


def make_corpus_source(corpus: str) -> Source:
    """The corpus as a `Source`, equal to that of an evaluation, so that `quorum questions` uses the same collection.

    Blocks the thread while it reads the files.
    """
    if not Path(corpus).exists():
        raise SetupError(f"There is no corpus {corpus}; give a folder of documents, or a .jsonl or .jsonl.gz file.")
    return Source(corpus, None, hash_corpus(Path(corpus)))


def read_collection(context: Context) -> list[Passage]:
    """The passages of the collection. Blocks the thread while it reads them."""
    from quorum.retrievers.collections import list_passages

    return list_passages(context)


async def make_questions(writing_plan: Plan, *, progress: ProgressCallback = ignore_progress) -> WrittenQuestions:
    """Write questions, round by round, until the file holds the wanted number, or until no more can be drawn.

    The file is saved after each round.
    """
    context, options, file, wanted_counts = (
        writing_plan.context,
        writing_plan.options,
        writing_plan.file,
        writing_plan.wanted_counts,
    )
    spending = writing_plan.spending
    faults, draft_count, error = Counter[str](), 0, None
    models_and_prompt_of_kind = await asyncio.to_thread(describe_models, context)
    with pay_for_embeddings(spending), file.lock():
        count_before = sum(file.count_kept_by_kind().values())
        remaining_drafts = {
            kind: MOST_DRAFTS * wanted_counts[kind] - count_in_file
            for kind, count_in_file in file.count_all_by_kind().items()
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
    """Whether a draft gets a line in the file.

    A kept draft does. With `writes_rejected`, a rejected draft does, too, if it has a question and no call failed.
    """
    return draft.fault is None or (options.writes_rejected and bool(draft.question) and draft.fault != "failed")


def make_neighbour_search(context: Context) -> NeighbourSearch:
    """A BM25 search over the collection. The first search builds the index. Each search blocks the thread."""
    from quorum.retrievers.bm25_cache import load_bm25_index
    from quorum.retrievers.collection_names import get_located_collection
    from quorum.retrievers.store import open_store

    store, collection = open_store(context.store), get_located_collection(context)
    return lambda text, k: load_bm25_index(store, collection).find_best(text, k)


def describe_models(context: Context) -> dict[Kind, dict[str, str]]:
    """For each kind of question, what its lines in the file say in `meta` about their origin: the models that write and
    check the question, the prompt, and the prompt's version.
    """
    models = {"model": get_text_or_class_name(context.model), "verifier": get_text_or_class_name(get_verifier(context))}
    return {
        kind: {
            **models,
            "prompt": QUESTION_PROMPTS[kind].name,
            "version": get_version(QUESTION_PROMPTS[kind].name, context.prompts),
        }
        for kind in QUESTION_KINDS
    }
