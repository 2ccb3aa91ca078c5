"""Questions that a collection answers, for the start of the page. Rules make them from its sentences, and each was
answered by the offline reader with the words of its sentence; nobody is offered a question that finds nothing.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from quorum.algorithms.vote_key import vote_key
from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.core.sentences import find_sentences
from quorum.core.where import Setting, format_where
from quorum.retrievers.choose_collection import locate_collection
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.store import open_store

COUNT = 3  # questions that are offered
LONGEST_WAIT = 30.0  # seconds
SECONDS_BETWEEN_LOOKS = 0.2  # how often it is looked whether the server is still busy
MOST_PASSAGES, MOST_TRIES = 300, 8  # passages that are looked at; questions that the reader is asked
SAMPLE_QUESTIONS = [
    "How tall is the Eiffel Tower?",
    "Who wrote the Zen of Python?",
    "Who selected the colour of the Golden Gate Bridge?",
]
# A name has a word with a capital letter, or a number, beside a first article: "the trial" says nothing by itself.
WORD = r"(?:[A-Z0-9][\w'’-]*)"
NAME = rf"(?P<name>(?:(?:The|A|An) (?:[a-z]+ (?:of )?){{0,2}})?{WORD}(?: (?:of the |of |and |de |van )?{WORD}){{0,4}})"
PART = r"(?P<part>(?:\w+ed|built|written|made|set|laid|won|led|drawn|cut|held|paid|sold|begun|known|given|found|sent))"
AGENT = r"(?P<answer>(?:the )?[A-Z][\w'’.-]+(?: (?:of |the |and )?[A-Z][\w'’.-]+){1,4})"
YEAR = r"(?P<answer>(?:\d{1,2} [A-Z][a-z]+ |[A-Z][a-z]+ )?\d{4})"
RULES = (
    (
        re.compile(rf"{NAME} (?P<verb>was|were|is|are) {PART} by {AGENT}(?=[.,;]| in | and )"),
        "Who {verb} {name} {part} by?",
    ),
    (re.compile(rf"{NAME} (?P<verb>was|were) {PART} in {YEAR}(?=[.,;]| by | and )"), "When {verb} {name} {part}?"),
    (re.compile(rf"{NAME} (?P<verb>is|are) (?P<answer>(?:an?|the) [a-z][^.;:]{{12,80}})\."), "What {verb} {name}?"),
)
NO_NAMES = re.compile(
    "^(It|He|She|They|This|That|These|Those|There|We|You|I|What|Which|Who|If|When|In|On|At|After|Before|Since|Under|During|"
    "Although|But|And|As|Its|His|Her|Their|Our|Your|My|Each|Any|Every|Some|All|Both|One|Another|Other|Here|Then|Today|Both)"
    "\\b"
)


@dataclass(frozen=True)
class Proposal:
    """A question, the id of the passage that it was made from, and the words there that answer it."""

    question: str
    passage: str
    answer: str


class FirstQuestions:
    """Finds the questions of collections, and remembers them until a collection changes.

    context: the server's; is_busy: whether visitors' questions are being answered, which come first.
    """

    def __init__(self, context: Context, is_busy: Callable[[], bool] = lambda: False) -> None:
        self.context, self.is_busy = context, is_busy
        self.searches: dict[tuple[str, str, str | None], asyncio.Task[list[str]]] = {}
        self.lock = asyncio.Lock()

    async def find(self, collection: str, where: Setting = None) -> list[str]:
        """Up to three questions about the passages that pass a filter; empty if no sentence gives one that the reader
        answers, or if none was found yet after LONGEST_WAIT, so that no request stays open long. The search then goes
        on, for the next who asks.
        """
        if collection == SAMPLE:
            return SAMPLE_QUESTIONS
        try:
            context = await asyncio.to_thread(self.locate, collection, where)
            info = await asyncio.to_thread(lambda: open_store(context.store).fetch_revised_info(collection))
            key = (collection, str(info.revision), format_where(where))
            if key not in self.searches:
                self.searches[key] = asyncio.create_task(self.choose(context))
            return await asyncio.wait_for(asyncio.shield(self.searches[key]), LONGEST_WAIT)
        except (QuorumError, TimeoutError):
            return []

    def locate(self, collection: str, where: Setting) -> Context:
        """The context in which the questions are tried: without calls of a model server. The call blocks."""
        plain = replace(self.context, collection=collection, where=where, calibration=None, journal="off")
        plain = replace(plain, model="embedded", verifier=None, retriever="bm25", reranker=None, context_filter=None)
        return locate_collection(plain)

    async def choose(self, context: Context) -> list[str]:
        """The questions that the offline reader answers as their sentences do, of different passages if possible."""
        chosen: list[Proposal] = []
        async with self.lock:  # only one search at a time
            proposals = await asyncio.to_thread(lambda: list(propose_questions(read_passages(context))))
            for proposal in proposals[:MOST_TRIES]:
                if len(chosen) == COUNT:
                    break
                while self.is_busy():  # noqa: ASYNC110  many things end a question
                    await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
                if proposal.passage not in {one.passage for one in chosen} and await is_answered(proposal, context):
                    chosen.append(proposal)
        return [one.question for one in chosen]


async def is_answered(proposal: Proposal, context: Context) -> bool:
    """Whether the offline reader answers a question by the words that it was made from, and shows where they stand."""
    from quorum.api.answer import answer

    result: Any = await answer(proposal.question, "concat", context)
    if result["unknown"] or not (result.get("support") or {}).get("is_certain"):
        return False
    given, expected = vote_key(result["answer"]), vote_key(proposal.answer)
    return bool(given) and (given in expected or expected in given)


def read_passages(context: Context) -> list[tuple[str, str]]:
    """(id, text) of the passages that may be found, at most MOST_PASSAGES. The call blocks."""
    store, name = open_store(context.store), str(context.collection)
    where = format_where(context.where)
    ids = None if where is None else sorted(store.fetch_matching_ids(name, where))[:MOST_PASSAGES]
    if ids == []:
        return []
    with store.open_client():
        rows = store.fetch_undamaged_collection(name).get(ids=ids, limit=MOST_PASSAGES, include=["documents"])
    return list(zip(rows["ids"], rows["documents"] or [], strict=False))


def propose_questions(passages: Iterable[tuple[str, str]]) -> Iterator[Proposal]:
    """Questions from the sentences of passages: (id, text). The kinds of questions take turns.

    >>> text = "The Lumen Tower was built by Ada Korn. It is high. The quay of Brae was finished in 1931."
    >>> [one.question for one in propose_questions([("p", text)])]
    ['Who was the Lumen Tower built by?', 'When was the quay of Brae finished?']
    """
    kinds: list[list[Proposal]] = [[] for _ in RULES]
    for id_, text in passages:
        for start, end in find_sentences(text):
            sentence = " ".join(text[start:end].split())
            for kind, (pattern, form) in zip(kinds, RULES, strict=True):
                match = pattern.match(sentence)
                if match is not None and not NO_NAMES.match(match["name"]):
                    kind.append(Proposal(write_question(form, match), id_, match["answer"]))
                    break
    seen: set[str] = set()
    for proposal in chain.from_iterable(zip_longest(*kinds)):
        if proposal is not None and proposal.question not in seen:
            seen.add(proposal.question)
            yield proposal


def write_question(form: str, match: "re.Match[str]") -> str:
    """The question of a rule, with an article in lower case."""
    name = re.sub("^(The|A|An) ", lambda article: article[0].lower(), match["name"])
    return form.format(**{**match.groupdict(), "name": name})
