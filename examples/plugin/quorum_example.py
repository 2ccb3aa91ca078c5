"""A package that adds a method (`shout`), a metric (`brevity`), a retriever (`titles`) and a reader (`.note`)."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from quorum import extend
from quorum.extend import Context, MethodGraph, Question, Result, State, abstain, begin, concat_answer, retrieve


async def write_in_capitals(state: State) -> State:
    """Reads the key `answer` of the state, and returns it in capitals."""
    return {"answer": state["answer"].upper()}


graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_sequence([begin, retrieve, concat_answer, write_in_capitals, abstain])
    .set_entry_point("begin")
    .compile(name="shout")
)
# calls="n": one call for each sample (the setting `samples`); depth="1": no call waits for the reply to another
method = extend.Method(
    "shout", "Example", "One prompt over all passages; the answer in capitals.", calls="n", depth="1", module=__name__
)


def brevity(outputs: Result, reference_outputs: dict[str, Any]) -> float | None:
    """One divided by the number of words of the answer; None if the answer is unknown."""
    return None if outputs["unknown"] else 1 / len(outputs["answer"].split())


class TitleRetriever(BaseRetriever):
    """Finds the passages whose titles share the most words with the question."""

    context: Context

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        query_words, passages = set(query.lower().split()), extend.list_passages(self.context)
        best = sorted(passages, key=lambda passage: -len(query_words & set(passage["title"].lower().split())))
        return [extend.make_document(passage) for passage in best[: self.context.k]]


def make_title_retriever(context: Context) -> BaseRetriever:
    """The retriever that `--retriever titles` chooses."""
    return TitleRetriever(context=context)


def read_note(data: bytes, name: str) -> extend.Document:
    """Read a .note file (`name` is its file name): the first line is the title, and each other line is a block."""
    title, *lines = data.decode(errors="replace").splitlines()
    return extend.Document(title, [extend.Block(line) for line in lines])
