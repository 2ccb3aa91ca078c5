"""Keeps the sessions of agents apart: a session belongs to the client that opened it."""

from collections import OrderedDict

from starlette.datastructures import Headers

from quorum.serving.access_control import App, Message, Receive, Scope, Send
from quorum.serving.errors import Refusal

SESSION_HEADER = "mcp-session-id"
MOST_SESSIONS = 20_000


class OwnedSessions:
    """An ASGI wrapper inside `AccessControl`. For any other client there is no such session."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.owners: OrderedDict[str, str] = OrderedDict()  # {session: client id}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client, session = scope["state"]["client"].id, Headers(scope=scope).get(SESSION_HEADER)
        if session is not None and self.owners.get(session) != client:
            refusal = Refusal(404, "Session not found; begin a new one.", "session_not_found")
            await refusal.respond()(scope, receive, send)
            return

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and session is None:
                opened = Headers(raw=list(message.get("headers", ()))).get(SESSION_HEADER)
                if opened is not None:
                    self.owners[opened] = client
                    if len(self.owners) > MOST_SESSIONS:
                        self.owners.popitem(last=False)
            await send(message)

        await self.app(scope, receive, send_and_note)
