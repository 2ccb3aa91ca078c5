"""What a watch does after a reply: it samples the answer, puts the question to the rival, and asks the judge.

One answer after another, in the order in which they were given; no client waits for it.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.evaluation.watch.anchors import (
    LABELS_BETWEEN_CHECKS,
    is_collecting,
    keep_anchor,
    read_anchors,
    write_check,
)
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder, count_watched
from quorum.evaluation.watch.labelling import label_answer, label_equal_answers, name_judge
from quorum.evaluation.watch.promise import EQUAL, Promise
from quorum.evaluation.watch.sampled import SampledAnswer, read_sampled
from quorum.evaluation.watch.sampling import Sampler, describe_answer, format_time
from quorum.evaluation.watch.standing import compute_standing
from quorum.evaluation.watch.watch_judge import WatchJudge, keep_passages
from quorum.graphs import answer
from quorum.serving.cost_bounds import bound_call
from quorum.serving.served_methods import ServedCascade
from quorum.serving.watch_account import WatchAccount

MOST_WAITING = 1000  # answers; of more no verdict is asked before they are sampled, and none of them of a rival
MOST_GIVEN = 2000  # answers that wait to be sampled; more are counted as not sampled
VERDICT_SECONDS = 60.0  # after which an answer is sampled without a verdict: the day's dollars may be spent
JUDGED_AT_ONCE = 4


@dataclass
class Watched:
    """A promise that the server watches. rival: the best single method, for a promise about loss; pause: how many times
    the anchors need not be asked, because the judge did not answer.
    """

    promise: Promise
    sampler: Sampler
    rival: ServedCascade | None = None
    pause: int = 0

    @property
    def folder(self) -> WatchFolder:
        return self.sampler.folder


@dataclass(frozen=True)
class GivenAnswer:
    """An answer that a client has got. question: as it stands alone; conversation: what its questions have in common;
    verdict: what the judge says, if it is asked before sampling.
    """

    watched: Sequence[Watched]
    context: Context
    question: str
    result: Mapping[str, Any]
    conversation: str
    verdict: "asyncio.Task[bool | None] | None" = None


class WatchWorker:
    """Follows up answers. flags: whether the judge is asked about every answer, to sample the doubtful ones more often;
    server_context: the settings under which the rival is asked.
    """

    def __init__(
        self,
        account: WatchAccount,
        judge: WatchJudge | None,
        *,
        flags: bool,
        server_context: Context,
        verdict_seconds: float = VERDICT_SECONDS,
    ) -> None:
        self.verdict_seconds = verdict_seconds
        self.account, self.judge, self.flags, self.server_context = account, judge, flags, server_context
        self.given: asyncio.Queue[GivenAnswer] = asyncio.Queue()
        self.sampled: asyncio.Queue[tuple[Watched, SampledAnswer, dict[str, Any]]] = asyncio.Queue()
        self.judge_slots = asyncio.Semaphore(JUDGED_AT_ONCE)
        self.tasks: list[asyncio.Task[None]] = []
        self.has_warned = False

    def start(self, watched: Sequence[Watched]) -> None:
        """Begin to work, if that has not begun, in the loop that runs now."""
        if not self.tasks:
            self.tasks = [asyncio.create_task(self.sample_answers(watched)), asyncio.create_task(self.complete_all())]

    def add(self, given: GivenAnswer) -> None:
        """Take note of an answer."""
        if self.given.qsize() >= MOST_GIVEN:
            for item in given.watched:
                item.sampler.skip(given.result.get("confidence"))
            return
        verdict = None
        if self.judge is not None and self.flags and self.given.qsize() < MOST_WAITING:
            verdict = asyncio.create_task(self.ask_verdict(given.question, keep_answer(given.result)))
        self.given.put_nowait(replace(given, verdict=verdict))

    async def sample_answers(self, watched: Sequence[Watched]) -> None:
        """Sample the answers as they come, after those that an earlier process has left without a rival's answer."""
        for item in watched:
            if item.rival is not None and not item.promise.judge_labels:
                for sampled in await asyncio.to_thread(read_sampled, item.folder):
                    if sampled.rival is None and sampled.label is None:
                        self.sampled.put_nowait((item, sampled, {**sampled.line, "passages": []}))
        while True:
            given = await self.given.get()
            for item in given.watched:
                try:
                    await self.sample(item, given)
                except Exception as error:  # noqa: BLE001  nobody waits for this task
                    self.warn(error)

    async def sample(self, watched: Watched, given: GivenAnswer) -> None:
        """Sample one answer, or keep it as an anchor of the judge."""
        if await asyncio.to_thread(is_collecting, watched.folder, watched.promise):
            await self.collect_anchor(watched, given)
            return
        verdict = None if given.verdict is None else await given.verdict
        line = await asyncio.to_thread(
            watched.sampler.observe,
            given.question,
            given.result,
            is_flagged=None if verdict is None else not verdict,
            conversation=given.conversation,
            collection=given.context.collection,
        )
        if line is not None and self.sampled.qsize() < MOST_WAITING:
            self.sampled.put_nowait((watched, SampledAnswer(line, None, None), keep_answer(given.result)))

    async def complete_all(self) -> None:
        """Ask the rival and the judge about sampled answers."""
        while True:
            watched, sampled, kept = await self.sampled.get()
            try:
                await self.complete(watched, sampled, kept)
            except Exception as error:  # noqa: BLE001  nobody waits for this task
                self.warn(error)

    async def complete(self, watched: Watched, sampled: SampledAnswer, kept: dict[str, Any]) -> None:
        """Ask what a sampled answer needs. kept: the answer as the judge reads it."""
        answers, rival_line = [kept], None
        if watched.rival is not None:
            rival = await self.ask_rival(watched.rival, str(sampled.line["question"]), sampled.line.get("collection"))
            rival_line = {"rival_of": sampled.id, "time": format_time(watched.sampler.clock()), **describe_rival(rival)}
            await asyncio.to_thread(watched.folder.append, ANSWERS, rival_line)
            if isinstance(rival, str):
                return
            answers.append(keep_answer(rival))
            if is_equal(answers):
                await asyncio.to_thread(label_equal_answers, watched.folder, sampled.id)
                return
        if not watched.promise.judge_labels:
            return
        right = [await self.judge_answer(str(sampled.line["question"]), item) for item in answers]
        if None in right:
            return
        completed = SampledAnswer(sampled.line, rival_line, None)
        verdicts = [bool(item) for item in right]
        label = label_answer(watched.promise, completed, verdicts, name_judge(watched.promise))
        await asyncio.to_thread(watched.folder.append, LABELS, label)
        if await asyncio.to_thread(self.must_check, watched.folder):
            await self.check_anchors(watched)

    def must_check(self, folder: WatchFolder) -> bool:
        return compute_standing(folder, count_watched(self.server_context.store)).must_check

    async def collect_anchor(self, watched: Watched, given: GivenAnswer) -> None:
        """Keep an answer as an anchor; the last one fixes the verdicts on all."""
        answers = [keep_answer(given.result)]
        if watched.rival is not None:
            rival = await self.ask_rival(watched.rival, given.question, given.context.collection)
            if isinstance(rival, str):
                return
            answers.append(keep_answer(rival))
        count = len(await asyncio.to_thread(read_anchors, watched.folder))
        if count < watched.promise.anchors:
            await asyncio.to_thread(keep_anchor, watched.folder, str(count), given.question, answers)
        if count + 1 >= watched.promise.anchors:
            await self.check_anchors(watched)

    async def check_anchors(self, watched: Watched) -> None:
        """Ask the judge about all anchors, and keep its verdicts. If it answers too few, it gets some rest."""
        if watched.pause:
            watched.pause -= 1
            return

        async def judge(anchor: Mapping[str, Any]) -> float | None:
            answers = anchor["answers"]
            if is_equal(answers):
                return EQUAL
            right = [await self.judge_answer(anchor["question"], item) for item in answers]
            if None in right:
                return None
            unknown = [bool(item["unknown"]) for item in answers]
            return watched.promise.compute_z([bool(item) for item in right], unknown)

        anchors = await asyncio.to_thread(read_anchors, watched.folder)
        z = await asyncio.gather(*(judge(anchor) for anchor in anchors))
        verdicts = {anchor["id"]: value for anchor, value in zip(anchors, z, strict=True)}
        watched.pause = LABELS_BETWEEN_CHECKS
        await asyncio.to_thread(write_check, watched.folder, verdicts)
        watched.pause = 0

    async def judge_answer(self, question: str, kept: Mapping[str, Any]) -> bool | None:
        """Whether an answer is right, where the judge labels. An unknown one is not, as in the certificates, and the
        judge is not asked: it may well call it correct.
        """
        return False if kept["unknown"] else await self.ask_judge(question, kept)

    async def ask_verdict(self, question: str, kept: Mapping[str, Any]) -> bool | None:
        """The judge's verdict before an answer is sampled; None if it does not come in time."""
        try:
            async with asyncio.timeout(self.verdict_seconds):
                return await self.judge_answer(question, kept)
        except TimeoutError:
            return None

    async def ask_judge(self, question: str, kept: Mapping[str, Any]) -> bool | None:
        """The judge's verdict; None without one."""
        judge = self.judge
        if judge is None:
            return None
        model, prices = str(judge.context.model), self.account.prices
        text = question + str(kept["answer"]) + "".join(passage["text"] for passage in kept["passages"])
        async with self.judge_slots:
            return await self.account.spend(
                bound_call(prices, model, text),
                lambda usage: prices.compute_cost(judge.context, usage),
                lambda config: judge.is_right(question, kept, config),
            )

    async def ask_rival(self, rival: ServedCascade, question: str, collection: str | None) -> Mapping[str, Any] | str:
        """The rival's result over the same collection; a text that says what failed instead."""
        context, prices = replace(self.server_context, collection=collection), self.account.prices
        try:
            return await self.account.spend(
                rival.bound_cost(context, question, prices) if self.account.limits.dollars_per_day is not None else 0.0,
                lambda usage: rival.compute_cost(context, usage, prices),
                lambda config: answer(question, rival.graph, context, config=config),
            )
        except QuorumError as error:
            return str(error)

    def warn(self, error: Exception) -> None:
        """What cannot be written or asked stops no answers; it is said once."""
        if not self.has_warned:
            self.has_warned = True
            print(f"quorum: an answer is not watched ({error}).", file=sys.stderr)


def describe_rival(rival: Mapping[str, Any] | str) -> dict[str, Any]:
    return {"error": rival} if isinstance(rival, str) else describe_answer(rival)


def keep_answer(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an answer for the judge, with the texts of its passages."""
    return {**describe_answer(result), "passages": keep_passages(result.get("passages"))}


def is_equal(answers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the rival gives the same answer, as answers are compared in a vote; two unknown answers are the same."""
    if len(answers) < 2:
        return False
    first, second = answers
    return bool(first["unknown"] == second["unknown"] and (first["unknown"] or first["key"] == second["key"]))
