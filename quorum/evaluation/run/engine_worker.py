"""The worker of the engine `ray`: asks questions and returns rows. Only the driver process writes result files."""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from quorum.cluster.ray_workers import limit_to_one_core
from quorum.datasets.records import Record
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.details import Detail
from quorum.evaluation.run.spending import ModelSpending, SpendingCounts
from quorum.evaluation.run.warm_up import has_embedded_model
from quorum.models.clock import REAL_CLOCK, Clock
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedding_requests import pay_for_embeddings
from quorum.models.journal import open_journal, resolve_path, share_journals
from quorum.models.journal_database import Record as Reply
from quorum.models.limits import CorrectableAmount, LocalRateLimit, share_rate_limits

QuestionForMethods = tuple[Record, list[str]]  # a question, and the names of the methods that are asked it
FORWARDED_PREFIXES = ("QUORUM_", "OPENAI_", "AZURE_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "HF_")
FORWARDED_SUFFIXES = ("_API_KEY", "_BASE_URL", "_API_BASE")


def select_environment() -> dict[str, str]:
    """The environment variables that hold options, server addresses and credentials; other machines may lack them."""
    return {
        name: text
        for name, text in os.environ.items()
        if name.startswith(FORWARDED_PREFIXES) or name.endswith(FORWARDED_SUFFIXES)
    }


@dataclass(frozen=True)
class Job:
    """What every worker needs to ask questions. columns: the context of each column allows one worker's share of the
    concurrent calls. questioner: how questions are asked; has_details: whether the workers return details; is_race:
    whether a race may drop methods while the workers ask; folder: the base of relative paths; environment: variables
    that the workers set.
    """

    columns: Sequence[Column]
    questioner: Questioner
    has_details: bool
    is_race: bool = False
    folder: str = field(default_factory=os.getcwd)
    environment: Mapping[str, str] = field(default_factory=select_environment)


@dataclass
class Answers:
    """What a worker returns for one question: rows and details of the methods that it asked, and their spending."""

    rows: list[Row] = field(default_factory=list)
    details: list[Detail] = field(default_factory=list)
    spending: SpendingCounts = field(default_factory=SpendingCounts)


class Services:
    """A Ray actor on the driver's machine. It holds what the workers share: the journals, the servers' limits per
    minute, the workers' warnings, and the methods that a race has dropped.
    """

    def __init__(self, folder: str) -> None:
        os.chdir(folder)
        self.rate_limits: dict[tuple[str, str], LocalRateLimit] = {}
        self.token_amounts: dict[int, CorrectableAmount] = {}
        self.amount_numbers = count()
        self.reported_warnings: dict[str, None] = {}
        self.unread_warnings: asyncio.Queue[str] = asyncio.Queue()
        self.dropped_methods: frozenset[str] = frozenset()

    async def get_reply(self, path: str, key: str) -> Reply | None:
        return await open_journal(resolve_path(path)).get(key)

    async def put_reply(self, path: str, key: str, reply: Reply) -> None:
        await open_journal(resolve_path(path)).put(key, reply)

    async def take_amount(self, kind: str, model: str, limit: float, amount: float) -> int:
        """Wait until the limit per minute allows `amount`. Returns a number, by which `correct_amount` finds the taken
        amount.

        kind: "tokens" or "requests"; only an amount of tokens can be corrected.
        """
        rate_limit = self.rate_limits.setdefault((kind, model), LocalRateLimit())
        taken_amount = await rate_limit.take(amount, limit, REAL_CLOCK)
        number = next(self.amount_numbers)
        if kind == "tokens":
            self.token_amounts[number] = taken_amount
        return number

    async def correct_amount(self, number: int, amount: float) -> None:
        """Replace a taken amount, the estimated tokens of a call, by the tokens that the call used."""
        self.token_amounts.pop(number).correct(amount)

    async def report_warning(self, text: str) -> None:
        """Report a worker's warning. The same warning from many workers is kept once."""
        if text not in self.reported_warnings:
            self.reported_warnings[text] = None
            self.unread_warnings.put_nowait(text)

    async def set_dropped_methods(self, names: frozenset[str]) -> None:
        """Set the methods that a race has dropped."""
        self.dropped_methods = names

    async def get_dropped_methods(self) -> frozenset[str]:
        return self.dropped_methods

    async def wait_for_warning(self) -> str:
        """Wait for the next warning."""
        return await self.unread_warnings.get()


class WarningHandler(logging.Handler):
    """Sends the warnings that Quorum logs in this process to `Services`."""

    def __init__(self, services: Any) -> None:
        super().__init__(logging.WARNING)
        self.services = services

    def emit(self, record: logging.LogRecord) -> None:
        self.services.report_warning.remote(record.getMessage())


@dataclass(frozen=True)
class SharedJournal:
    """A journal that `Services` keeps open for all workers."""

    services: Any
    path: str

    async def get(self, key: str) -> Reply | None:
        reply: Reply | None = await self.services.get_reply.remote(self.path, key)
        return reply

    async def put(self, key: str, record: Reply) -> None:
        await self.services.put_reply.remote(self.path, key, record)


@dataclass(frozen=True)
class SharedRateLimit:
    """The limit per minute that `Services` shares among workers."""

    services: Any
    kind: str
    model: str

    async def take(
        self, amount: float, limit: float, clock: Clock, begin: Callable[[], Awaitable[object]], earlier_calls: int = 0
    ) -> CorrectableAmount:
        number = await self.services.take_amount.remote(self.kind, self.model, limit, amount)
        await begin()
        return SharedAmount(self.services, number)


@dataclass(frozen=True)
class SharedAmount:
    """An amount taken from a limit that `Services` shares among workers."""

    services: Any
    number: int

    def correct(self, amount: float) -> None:
        self.services.correct_amount.remote(self.number, amount)


class Asker:
    """Asks questions on an event loop of its own, several at once if several threads call it."""

    def __init__(self, job: Job, services: Any) -> None:
        os.environ.update(job.environment)
        # Another machine may lack the folder. The driver has checked that each machine has the files that workers read.
        with suppress(OSError):
            os.chdir(job.folder)
        self.job, self.services = job, services
        logging.getLogger("quorum").addHandler(WarningHandler(services))
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.run_on_loop(self.use_shared_services())
        if any(has_embedded_model(column.context) for column in job.columns):
            with limit_to_one_core():
                get_encoder()

    def __call__(self, question: QuestionForMethods) -> Answers:
        answers: Answers = self.run_on_loop(self.ask(*question))
        return answers

    def run_on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def use_shared_services(self) -> None:
        """Make this worker use the shared journal and limits."""
        share_journals(lambda path: SharedJournal(self.services, path))
        share_rate_limits(lambda kind, model: SharedRateLimit(self.services, kind, model))

    async def ask(self, record: Record, names: list[str]) -> Answers:
        """Ask one method after the other, so that a later one finds equal calls of an earlier one in the journal."""
        answers, spending = Answers(), ModelSpending()
        with pay_for_embeddings(spending):
            for column in self.job.columns:
                if column.name in names and not await self.is_dropped(column.name):
                    details = answers.details if self.job.has_details else None
                    answers.rows.append(await self.job.questioner.ask(record, column, spending, details))
        answers.spending = spending.export_counts()
        return answers

    async def is_dropped(self, name: str) -> bool:
        """Whether a race has dropped the method by now."""
        return self.job.is_race and name in await self.services.get_dropped_methods.remote()


@dataclass(frozen=True)
class RemainingQuestionsReader:
    """Reads the questions that at least one method must still answer, each with the names of these methods.

    Each call reads the data again. An instance can be pickled.

    read_records: reads all questions; names: all methods that are still asked; finished_ids: questions that have an
    answer or an error from each of these methods; missing_names: for a question that has an answer or an error from
    only some of these methods, the names of the others.
    """

    read_records: Callable[[], Iterator[Record]]
    names: list[str]
    finished_ids: frozenset[str]
    missing_names: Mapping[str, list[str]]

    def __call__(self) -> Iterator[QuestionForMethods]:
        for record in self.read_records():
            if record["id"] not in self.finished_ids:
                yield record, self.missing_names.get(record["id"], self.names)
