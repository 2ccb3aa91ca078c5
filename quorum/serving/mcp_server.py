"""Serves agents by the Model Context Protocol (extra [mcp]): tools that ask and search, and passages as resources."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import Context as ToolCall
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BeforeValidator, Field, ValidationError

from quorum.api.stream import Event, NodeFinished
from quorum.core.cancellation import wait_for_task
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.where import format_where
from quorum.evaluation.shown.headline import list_sources
from quorum.evaluation.shown.public_result import make_public_passage
from quorum.models.embedding_requests import pay_for_embeddings
from quorum.retrievers import search
from quorum.serving.access import Access
from quorum.serving.access_control import AccessControl, App
from quorum.serving.chat_request import ChatRequest
from quorum.serving.client import LOCAL, Client
from quorum.serving.conversation import Message, read_question
from quorum.serving.describe_collections import describe_collection
from quorum.serving.errors import Refusal, explain_failure
from quorum.serving.log.record import get_record
from quorum.serving.log.tool_calls import noted
from quorum.serving.mcp_messages import describe_arguments, describe_for_agents, find_asked_collection, find_asked_model
from quorum.serving.mcp_sessions import OwnedSessions
from quorum.serving.permissions import Permissions, ServedModel
from quorum.serving.service import Service
from quorum.serving.spending import Spending

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SESSION_IDLE_SECONDS = 600.0  # after which a session without a request is closed; its client then opens another
PASSAGE_ADDRESS = "quorum://{collection}/passages/{passage}"
DEFAULT_COUNT = 5  # passages of a search


def read_missing(value: Any) -> Any:
    """None for an argument that says nothing: many agents write null or an empty text for what they leave out."""
    return None if isinstance(value, str) and not value.strip() else value


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Question = Annotated[Text, Field(description="The question, complete in itself")]
Query = Annotated[Text, Field(description="What to search for")]
Missing = BeforeValidator(read_missing)
MethodName = Annotated[
    str | None, Missing, Field(description="How to answer; the tool `methods` lists the names and the default")
]
CollectionName = Annotated[
    str | None, Missing, Field(description="Where to look; the tool `collections` lists the names")
]
Settings = Annotated[
    dict[str, Any] | None,
    Missing,
    Field(description='Settings of the method, such as {"k": 10, "where": "year>=2020"}'),
]
WhereText = Annotated[
    str | None,
    Missing,
    Field(description="Only passages with these metadata, such as 'source=handbook.pdf' or 'year>=2020 and team=HR'"),
]
Count = Annotated[
    Annotated[int, Field(ge=1, le=50)] | None,
    Missing,
    Field(description=f"How many passages at most; {DEFAULT_COUNT} by default"),
]


class Server(MCPServer):  # type: ignore[misc]  # an extra, which mypy skips
    """The MCP server, which tells an agent in a sentence which argument of a tool does not fit."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(describe_arguments(name, error.__cause__.errors())) from None
            raise


def make_mcp(service: Service, *, has_names: bool = False) -> Any:
    """The MCP server. The descriptions of its tools say what the collections contain when this function is called.

    has_names: clients with different rights use it, so that the descriptions say nothing of the collections: each asks
    the tool `collections`. This function reads the store and blocks meanwhile, so async callers call it in a thread.
    """
    from quorum import __version__

    tools = Tools(service)
    if has_names:
        collections_text = "The tool `collections` says what can be asked."
    else:
        described = tools.describe_collections(service.permissions)
        collections_text = " ".join(f"{name}: {content}" for name, content in described.items())
    server: Any = Server(
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
    app: App = make_mcp(service, has_names=access.token_file is not None).streamable_http_app(
        transport_security=security, session_idle_timeout=SESSION_IDLE_SECONDS
    )
    return AccessControl(OwnedSessions(app), access)


class Tools:
    """The tools that an agent may call, and the passages that it may read. Each call asks for the permissions of its
    own client: a session may be older than a change of the token file.

    What fails raises a `ToolError` or, for a passage, a `ResourceError`, whose message the agent gets.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    def get_permissions(self, call: ToolCall) -> Permissions:
        """What the client that calls may choose."""
        return self.service.permissions.of(find_client(call))

    @noted
    async def ask(
        self,
        question: Question,
        call: ToolCall,
        method: MethodName = None,
        collection: CollectionName = None,
        settings: Settings = None,
    ) -> CallToolResult:
        """The answer with its sources as text, and the whole result as structured content."""
        permissions, finished_nodes = self.get_permissions(call), 0
        context = permissions.server_context
        progress_reports: list[asyncio.Future[None]] = []

        def report_progress_to_agent(event: Event) -> None:
            nonlocal finished_nodes
            if isinstance(event, NodeFinished) and not event.inside:  # a node of the method, not of a subgraph
                finished_nodes += 1
                progress_reports.append(asyncio.ensure_future(call.report_progress(finished_nodes, None, event.phase)))

        try:
            check_given("question", question)
            asked = method or permissions.default_method
            model = await asyncio.to_thread(find_asked_model, permissions, asked, collection)
            chosen = {name: value for name, value in (settings or {}).items() if value is not None}
            chat = ChatRequest(model, (Message("user", question),), chosen)
            job = await self.service.accept(chat, find_client(call))
            context, task = job.context, self.service.start(job, report_progress_to_agent)
            try:
                served_answer = await wait_for_task(task, find_leaving_event(call))
            finally:
                await asyncio.gather(*progress_reports, return_exceptions=True)
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise make_tool_error(error, context) from None
        result = dict(served_answer.result or {})
        addresses = dict.fromkeys(
            format_passage_address(job.served_model.collection, source.passage["id"])
            for source in list_sources(result)[0]
        )
        text = "\n".join([served_answer.answer + served_answer.sources, *(f"[{address}]" for address in addresses)])
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=result)

    @noted
    async def search(
        self, query: Query, call: ToolCall, collection: CollectionName = None, k: Count = None, where: WhereText = None
    ) -> CallToolResult:
        """The passages that fit the query, best first."""
        permissions = self.get_permissions(call)
        context = permissions.server_context
        try:
            check_given("query", query)
            query = read_question([Message("user", query)])
            name = await asyncio.to_thread(find_asked_collection, permissions, collection)
            served_model = ServedModel("", "", name)
            get_record().begin_answer("search", name, "", query)
            context = permissions.make_context(served_model, {"k": k or DEFAULT_COUNT, "where": where})
            reservation = self.service.begin(find_client(call))
            try:
                with pay_for_embeddings(Spending(reservation, self.service.prices)):
                    passages = await search(query, context)
            finally:
                reservation.close()
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise make_tool_error(error, context) from None
        texts = [
            f"[{format_passage_address(served_model.collection, passage['id'])}] {passage['title']}\n{passage['text']}"
            for passage in passages
        ]
        return CallToolResult(
            content=[TextContent(type="text", text="\n\n".join(texts) or "Nothing was found.")],
            structured_content={"passages": [make_public_passage(passage) for passage in passages]},
        )

    @noted
    async def collections(self, call: ToolCall) -> dict[str, str]:
        """By collection name: a sentence about what the collection holds."""
        permissions = self.get_permissions(call)
        try:
            return await asyncio.to_thread(self.describe_collections, permissions)
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise make_tool_error(error, permissions.server_context) from None

    @noted
    async def methods(self, call: ToolCall) -> dict[str, dict[str, str]]:
        """By method name: what the method does, how many model calls it takes, and its paper."""
        permissions = self.get_permissions(call)
        described = {
            name: {"summary": method.summary, "calls": method.calls, "paper": method.paper}
            for name, method in permissions.list_methods().items()
        }
        if permissions.default_method in described:
            described[permissions.default_method]["default"] = "yes"
        return described

    @noted
    async def passage(self, collection: str, passage: str, call: ToolCall) -> str:
        """The title and the text of the passage with the id `passage`."""
        passages: list[Passage] = []
        permissions = self.get_permissions(call)
        try:
            if collection in await asyncio.to_thread(permissions.list_collections):
                get_record().collection = collection
                passages = await asyncio.to_thread(fetch_passages, permissions.server_context, collection, [passage])
        except Exception as error:  # noqa: BLE001  every failure is reported to the agent
            raise ResourceError(explain_to_agent(error, permissions.server_context)) from None
        if not passages:
            get_record().fail(404, "passage_not_found")
            raise ResourceNotFoundError(f"There is no passage {passage[:100]!r} in {collection[:100]!r}.")
        return f"{passages[0]['title']}\n\n{passages[0]['text']}"

    def describe_collections(self, permissions: Permissions) -> dict[str, str]:
        """By collection name: a sentence about what the collection holds.

        This method reads the store and blocks meanwhile, so async callers call it in a thread.
        """
        return {name: describe_collection(permissions.server_context, name) for name in permissions.list_collections()}


def fetch_passages(server_context: Context, collection: str, ids: list[str]) -> list[Passage]:
    """The passages of a collection with these ids. The call blocks."""
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    located_context = locate_collection(replace(server_context, collection=collection))
    store, where = open_store(located_context.store), format_where(located_context.where)
    if where is not None:
        ids = [id_ for id_ in ids if id_ in store.fetch_matching_ids(collection, where)]
    return store.fetch_passages_by_id(collection, ids, located_context.title_key) if ids else []


def make_tool_error(error: Exception, context: Context) -> ToolError:
    """The error that the agent gets when a tool fails."""
    return ToolError(explain_to_agent(error, context))


def explain_to_agent(error: Exception, context: Context) -> str:
    """A refusal's own message, or an explanation of any other error. The request log gets its status and code."""
    record = get_record()
    refusal = error if isinstance(error, Refusal) else explain_failure(error, context, record.id)
    record.fail(refusal.status, refusal.code)
    return describe_for_agents(refusal)


def check_given(name: str, text: str) -> None:
    """Raise `Refusal` for an empty argument that has no default."""
    if not text.strip():
        raise Refusal(400, f"The argument `{name}` is empty; give a text.", param=name)


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
