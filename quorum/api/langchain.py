"""A method inside LangChain: as a retriever, whose documents are the passages it reads, and as a tool for an agent."""

from typing import TYPE_CHECKING, Any

from quorum.api.answer import answer
from quorum.evaluation.shown.headline import list_sources, make_headline
from quorum.graphs import DEFAULT_METHOD, find_method

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from quorum.core.context import Context
    from quorum.evaluation.shown.support import ShownResult
    from quorum.graphs import Graph

SNIPPET_LENGTH = 300  # characters of each passage that an agent sees


def as_retriever(method: "str | Graph" = "concat", context: "Context | None" = None) -> "BaseRetriever":
    """A method as a LangChain retriever: the passages that it would read, reranked and filtered, best first.

    method: the method's name, with settings of its own in brackets if it has any, or a compiled graph of your own. A
    method that searches more than once, and a graph of yours, runs to its end; the others stop before they answer.
    context: the method's settings, such as `reranker`, `context_filter` and `k`. A document has the passage's id and
    text; its metadata are the title, the score, and the places of the passage in its files.

    Raises SetupError for an unknown method, for one that reads no passages, and for what is neither.

    >>> import quorum
    >>> retriever = quorum.as_retriever("filco", quorum.Context(k=3))
    >>> retriever.invoke("Who wrote the Zen of Python?")[0].metadata["title"]
    'Python (programming language)'
    """
    from quorum.api.langchain_retriever import MethodRetriever
    from quorum.core.errors import SetupError
    from quorum.graphs.choose_method import choose_method, reads_passages

    name, settings = choose_method(check_method_or_graph(method), context)
    if not isinstance(name, str):
        return MethodRetriever(method=name, context=settings)
    graph_method = find_method(name)
    if not reads_passages(graph_method.graph):
        raise SetupError(f"The method {graph_method.name!r} reads no passages; give another one, for example concat.")
    return MethodRetriever(method=graph_method.name, context=settings)


def as_tool(
    method: "str | Graph" = DEFAULT_METHOD,
    context: "Context | None" = None,
    *,
    name: str = "ask_documents",
    description: str = "",
) -> "BaseTool":
    """A method as a LangChain tool, for `langchain.agents.create_agent` and any model that calls tools.

    method: the method's name, with settings of its own in brackets if it has any, or a compiled graph of your own.
    name, description: what the agent reads; the description should say what the documents hold. The tool takes
    `question`; its content is the answer with the passages that were read, or with the answer unknown also what was
    searched (`search_note`); its artifact is the whole result.

    Raises SetupError for an unknown method, and for what is neither a method's name nor a compiled graph.

    >>> import quorum
    >>> tool = quorum.as_tool("concat_pf", description="Answers questions about famous buildings and inventions.")
    >>> tool.invoke({"question": "Who wrote the Zen of Python?"}).splitlines()[0]
    'Tim Peters'
    """
    from langchain_core.tools import StructuredTool

    from quorum.core.sync import run_sync
    from quorum.evaluation.shown.searched import describe_searched
    from quorum.graphs.choose_method import choose_method

    chosen, settings = choose_method(check_method_or_graph(method), context)
    if isinstance(chosen, str):
        chosen_method = find_method(chosen)
        chosen, summary = chosen_method.name, chosen_method.summary
    else:
        summary = ""

    async def ask(question: str) -> tuple[str, Any]:
        result = await answer(question, chosen, settings)
        result["search_note"] = await describe_searched(result, settings) if result["unknown"] else None
        return format_answer(result), result

    def ask_sync(question: str) -> tuple[str, Any]:
        return run_sync(ask(question))

    return StructuredTool.from_function(
        func=ask_sync,
        coroutine=ask,
        name=name,
        description=description or describe_tool(summary, settings),
        args_schema={
            "type": "object",
            "properties": {"question": {"type": "string", "description": "The question, complete in itself"}},
            "required": ["question"],
        },
        response_format="content_and_artifact",
    )


def check_method_or_graph(method: Any) -> "str | Graph":
    """What names a method, or is a compiled graph. Raises `SetupError` for anything else."""
    if isinstance(method, str) or (hasattr(method, "ainvoke") and hasattr(method, "nodes")):
        chosen: str | Graph = method
        return chosen
    from quorum.core.errors import SetupError

    hint = "; compile it first: graph.compile(name=...)" if hasattr(method, "compile") else ""
    raise SetupError(
        f"A method is asked by its name, such as 'concat', or as a compiled graph, but this is a "
        f"{type(method).__name__}{hint}."
    )


def describe_tool(summary: str, context: "Context") -> str:
    """The description of a tool if the caller gives none. summary: of its method; "" for a graph of the user's own."""
    documents = f"the documents of the collection {context.collection!r}" if context.collection else "documents"
    return f"Answers a question from {documents}. {summary}".rstrip()


def format_answer(result: "ShownResult") -> str:
    """The answer; if it is unknown, what was searched; then for each passage that was read the title and at most
    SNIPPET_LENGTH characters of text, first those that support the answer. The passages that an answer cites have the
    numbers of its marks.
    """
    headline, (sources, _) = make_headline(result), list_sources(result)
    said = [headline.badge_text] if headline.badge == "none" else []
    lines = []
    for source in sources:
        title, text = source.passage["title"] or source.passage["id"], source.passage["text"][:SNIPPET_LENGTH]
        lines.append(f"[{title}] {text}" if source.number is None else f"[{source.number}] {title}: {text}")
    searched = [str(result["search_note"])] if result.get("search_note") else []
    return "\n".join([headline.shown_text, *said, *searched, *lines])
