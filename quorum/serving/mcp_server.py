"""Serves agents by the Model Context Protocol (extra [mcp]): tools that ask and search, and passages as resources."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import Context as ToolCall
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from quorum.api.stream import Event, NodeFinished
from quorum.core.cancellation import wait_for_task
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.where import format_where
from quorum.evaluation.shown.headline import list_sources
from quorum.evaluation.shown.public_result import make_public_passage
from quorum.graphs import DEFAULT_METHOD
from quorum.retrievers import search
from quorum.serving.access import Access
from quorum.serving.access_control import AccessControl, App
from quorum.serving.chat_request import ChatRequest
from quorum.serving.client import LOCAL, Client
from quorum.serving.conversation import Message, read_question
from quorum.serving.describe_collections import describe_collection
from quorum.serving.errors import Refusal, explain_failure
from quorum.serving.permissions import Permissions
from quorum.serving.service import Service

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SESSION_IDLE_SECONDS = 600.0  # after which a session without a request is closed; its client then opens another
PASSAGE_ADDRESS = "quorum://{collection}/passages/{passage}"
Question = Annotated[str, Field(description="The question, complete in itself")]
Query = Annotated[str, Field(description="What to search for")]
MethodName = Annotated[str, Field(description="How to answer; the tool `methods` lists the names")]
CollectionName = Annotated[str | None, Field(description="Where to look; the tool `collections` lists the names")]
Settings = Annotated[
    dict[str, Any] | None, Field(description='Settings of the method, such as {"k": 10, "where": "year>=2020"}')
]
WhereText = Annotated[
    str | None,
    Field(description="Only passages with these metadata, such as 'source=handbook.pdf' or 'year>=2020 and team=HR'"),
]
Count = Annotated[int, Field(description="How many passages at most", ge=1, le=50)]


def make_mcp(service: Service) -> Any:
    """The MCP server. The descriptions of its tools say what the collections contain when this function is called.

    This function reads the store and blocks meanwhile, so async callers call it in a thread.
    """
    from quorum import __version__

    tools = Tools(service)
    collections_text = " ".join(f"{name}: {content}" for name, content in tools.describe_collections().items())
    server: Any = MCPServer(
        "quorum", title="Quorum", version=__version__, instructions=collections_text, log_level="WARNING"
    )
    descriptions = {
        tools.ask: f"Answer a question from documents, with the passages that were read. {collections_text}",
        tools.search: f"Find the passages of documents that fit a query, best first. {collections_text}",
        tools.collections: "List the collections of documents that can be asked, and what each holds.",
        tools.methods: "List the methods that can answer, with what each does and how many model calls it takes.",
    }
    for tool, description in descriptions.items():
        server.add_tool(tool, name=tool.__name__, description=description, annotations=READ_ONLY)
    server.resource(PASSAGE_ADDRESS, name="passage", description="The text of a passage")(tools.passage)
    return server


def make_mcp_app(service: Service, access: Access, port: int) -> App:
    """The MCP server over streamable HTTP at /mcp, behind the same access control as the API.

    port: unused; `run_server` gives it to every application that it serves beside the API.
    """
    # AccessControl already protects against DNS rebinding.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: App = make_mcp(service).streamable_http_app(
        transport_security=security, session_idle_timeout=SESSION_IDLE_SECONDS
    )
    return AccessControl(app, access)


class Tools:
    """The tools that an agent may call, and the passages that it may read.

    If `ask` or `search` fails, it raises a `ToolError`, whose message the agent gets.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    @property
    def permissions(self) -> Permissions:
        return self.service.permissions

    async def ask(
        self,
        question: Question,
        call: ToolCall,
        method: MethodName = DEFAULT_METHOD,
        collection: CollectionName = None,
        settings: Settings = None,
    ) -> CallToolResult:
        """The answer with its sources as text, and the whole result as structured content."""
        model_name = f"{method}@{collection}" if collection else method
        chat = ChatRequest(model_name, (Message("user", question),), settings or {})
        context, finished_nodes = self.permissions.server_context, 0
        progress_reports: list[asyncio.Future[None]] = []

        def report_progress_to_agent(event: Event) -> None:
            nonlocal finished_nodes
            if isinstance(event, NodeFinished) and not event.inside:  # a node of the method, not of a subgraph
                finished_nodes += 1
                progress_reports.append(asyncio.ensure_future(call.report_progress(finished_nodes, None, event.phase)))

        try:
            job = await self.service.accept(chat, find_client(call))
            context, task = job.context, self.service.start(job, report_progress_to_agent)
            try:
                served_answer = await wait_for_task(task, find_leaving_event(call))
            finally:
                await asyncio.gather(*progress_reports, return_exceptions=True)
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise make_tool_error(error, context, call) from None
        result = dict(served_answer.result or {})
        addresses = dict.fromkeys(
            format_passage_address(job.served_model.collection, source.passage["id"])
            for source in list_sources(result)[0]
        )
        text = "\n".join([served_answer.answer + served_answer.sources, *(f"[{address}]" for address in addresses)])
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=result)

    async def search(
        self, query: Query, call: ToolCall, collection: CollectionName = None, k: Count = 5, where: WhereText = None
    ) -> CallToolResult:
        """The passages that fit the query, best first."""
        client, context = find_client(call), self.permissions.server_context
        try:
            query = read_question([Message("user", query)])
            served_model = await asyncio.to_thread(
                self.permissions.find_model, f"{DEFAULT_METHOD}@{collection}" if collection else DEFAULT_METHOD
            )
            context = self.permissions.make_context(served_model, {"k": k, "where": where})
            reservation = self.service.limits.begin(client.id)
            try:
                passages = await search(query, context)
            finally:
                reservation.close()
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise make_tool_error(error, context, call) from None
        texts = [
            f"[{format_passage_address(served_model.collection, passage['id'])}] {passage['title']}\n{passage['text']}"
            for passage in passages
        ]
        return CallToolResult(
            content=[TextContent(type="text", text="\n\n".join(texts) or "Nothing was found.")],
            structured_content={"passages": [make_public_passage(passage) for passage in passages]},
        )

    async def collections(self) -> dict[str, str]:
        """By collection name: a sentence about what the collection holds."""
        return await asyncio.to_thread(self.describe_collections)

    async def methods(self) -> dict[str, dict[str, str]]:
        """By method name: what the method does, how many model calls it takes, and its paper."""
        return {
            name: {"summary": method.summary, "calls": method.calls, "paper": method.paper}
            for name, method in self.permissions.list_methods().items()
        }

    async def passage(self, collection: str, passage: str) -> str:
        """The title and the text of the passage with the id `passage`."""
        passages: list[Passage] = []
        if collection in await asyncio.to_thread(self.permissions.list_collections):
            passages = await asyncio.to_thread(fetch_passages, self.permissions.server_context, collection, [passage])
        if not passages:
            raise ResourceNotFoundError(f"There is no passage {passage[:100]!r} in {collection[:100]!r}.")
        return f"{passages[0]['title']}\n\n{passages[0]['text']}"

    def describe_collections(self) -> dict[str, str]:
        """By collection name: a sentence about what the collection holds.

        This method reads the store and blocks meanwhile, so async callers call it in a thread.
        """
        return {
            name: describe_collection(self.permissions.server_context, name)
            for name in self.permissions.list_collections()
        }


def fetch_passages(server_context: Context, collection: str, ids: list[str]) -> list[Passage]:
    """The passages of a collection with these ids. The call blocks."""
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    located_context = locate_collection(replace(server_context, collection=collection))
    store, where = open_store(located_context.store), format_where(located_context.where)
    if where is not None:
        ids = [id_ for id_ in ids if id_ in store.fetch_matching_ids(collection, where)]
    return store.fetch_passages_by_id(collection, ids, located_context.title_key) if ids else []


def make_tool_error(error: Exception, context: Context, call: Any) -> ToolError:
    """The error that the agent gets: with a refusal's own message, or with an explanation of any other error."""
    refusal = error if isinstance(error, Refusal) else explain_failure(error, context, str(call.request_id))
    return ToolError(refusal.message)


def find_client(call: Any) -> Client:
    """Who calls. Over HTTP, `AccessControl` has set it for each request; otherwise it is LOCAL."""
    request = call.request_context.request
    client: Client = getattr(getattr(request, "state", None), "client", LOCAL)
    return client


def find_leaving_event(call: Any) -> asyncio.Event | None:
    """The event that the client has closed the connection of this call; None if the server does not speak HTTP.

    An MCP session goes on without the connection, but nobody would get the answer.
    """
    request = call.request_context.request
    return getattr(getattr(request, "state", None), "client_left", None)


def format_passage_address(collection: str, passage: str) -> str:
    """The address at which the server offers a passage as a resource. passage: its id, which may contain any character,
    so that it is percent-encoded.
    """
    return PASSAGE_ADDRESS.format(collection=quote(collection, safe=""), passage=quote(passage, safe=""))
