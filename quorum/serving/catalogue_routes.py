"""What a client may choose, as a page shows it: methods with their graphs, settings in groups, models."""

import asyncio
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quorum.core.context import get_setting_schemas
from quorum.core.errors import SetupError
from quorum.core.settings.groups import group_settings
from quorum.graphs.catalogue import Method
from quorum.graphs.method_titles import describe_method
from quorum.serving.errors import Refusal
from quorum.serving.method_drawing import draw_graph, list_graph
from quorum.serving.openapi import describe_allowed_settings
from quorum.serving.permissions import MODEL_SETTINGS, Permissions
from quorum.serving.runs.routes import Wrap

EFFORTS = {"Fast": ("concat",), "Careful": ("concat_pf",), "Thorough": ("concat_pf", "post_fusion", "sure")}
EFFORT_REASONS = {
    "Fast": "one answer from all passages",
    "Careful": "all passages at once; if they do not say, each passage votes",
    "Thorough": "three methods, side by side",
}


def make_catalogue_routes(permissions: Permissions, wrap: Wrap) -> list[Route]:
    """The routes. wrap: turns refusals into responses."""
    routes = CatalogueRoutes(permissions)
    return [
        Route("/v1/methods", wrap(routes.list_methods)),
        Route("/v1/methods/{name}.svg", wrap(routes.draw_method)),
        Route("/v1/methods/{name}", wrap(routes.show_method)),
        Route("/v1/efforts", wrap(routes.list_efforts)),
        Route("/v1/settings", wrap(routes.list_settings)),
        Route("/v1/providers/models", wrap(routes.list_provider_models)),
    ]


class CatalogueRoutes:
    """The handlers."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions

    async def list_methods(self, request: Request) -> Response:
        methods = self.permissions.of(request.state.client).list_methods().values()
        data = await asyncio.to_thread(lambda: [self.describe(method) for method in methods])
        return JSONResponse({"object": "list", "data": data})

    async def show_method(self, request: Request) -> Response:
        method = self.find_method(request)
        return JSONResponse(await asyncio.to_thread(self.describe, method))

    async def draw_method(self, request: Request) -> Response:
        """The graph as SVG; with open=1 with what is inside the nodes that are graphs themselves."""
        method, is_open = self.find_method(request), request.query_params.get("open") in ("1", "true")
        svg = await asyncio.to_thread(draw_graph, method.name, self.get_graph(method), is_open)
        return Response(svg, media_type="image/svg+xml")

    def find_method(self, request: Request) -> Method:
        name = str(request.path_params["name"])
        try:
            method = self.permissions.of(request.state.client).find_method(name)
        except SetupError as error:
            raise Refusal(400, str(error), "invalid_method") from None
        if method is None:
            raise Refusal(404, f"There is no method {name[:100]!r}; GET /v1/methods lists them.", "method_not_found")
        return method

    def get_graph(self, method: Method) -> Any:
        cascade = self.permissions.find_cascade(method.name)
        return method.graph if cascade is None else cascade.graph

    def describe(self, method: Method) -> dict[str, Any]:
        """A method as JSON. Its graph is imported when it is first needed, so the call blocks."""
        family, title = describe_method(method.name)
        return {
            "id": method.name,
            "object": "method",
            "title": title,
            "family": family,
            "summary": method.summary,
            "paper": method.paper,
            "calls": method.calls,
            "depth": method.depth,
            **list_graph(self.get_graph(method)),
            "svg": f"/v1/methods/{quote(method.name, safe='')}.svg",
        }

    async def list_efforts(self, request: Request) -> Response:
        """How carefully a question may be asked: names with the methods behind them. For a collection for which a
        served cascade was made, `Careful` means that cascade.
        """
        permissions = self.permissions.of(request.state.client)
        collection, allowed = request.query_params.get("collection", ""), permissions.list_methods()
        efforts = {name: [method for method in methods if method in allowed] for name, methods in EFFORTS.items()}
        reasons = dict(EFFORT_REASONS)
        if not efforts["Careful"] and allowed:  # the client's token allows others only
            efforts["Careful"] = [permissions.default_method]
            reasons["Careful"] = allowed[permissions.default_method].summary
        efforts = {name: methods for name, methods in efforts.items() if methods}
        for name, served in self.permissions.cascades.items():
            if name in allowed and collection and (served.cascade.collection or {}).get("name") == collection:
                efforts["Careful"], reasons["Careful"] = [name], f"{name}, a cascade that was measured on {collection}"
                break
        data = [{"name": name, "methods": methods, "reason": reasons[name]} for name, methods in efforts.items()]
        return JSONResponse({"object": "list", "data": data})

    async def list_settings(self, request: Request) -> Response:
        """The groups of settings, each setting with its schema. Those that a client may not choose have no value."""
        permissions = self.permissions.of(request.state.client)
        schemas, allowed = get_setting_schemas(), describe_allowed_settings(permissions)
        context = permissions.server_context
        groups = []
        for group, names in group_settings().items():
            settings = []
            for name in names:
                schema = allowed.get(name, schemas[name])
                value = getattr(context, name)
                is_shown = name in allowed and (value is None or isinstance(value, str | bool | int | float))
                shown = {"value": value} if is_shown else {}
                settings.append({"name": name, "may_choose": name in allowed, **shown, "schema": dict(schema)})
            groups.append({"name": group, "settings": settings})
        return JSONResponse({"object": "list", "data": groups})

    async def list_provider_models(self, request: Request) -> Response:
        """The models that a client may choose, the server's own first; for the owner also what the provider of the
        server's own model lists.
        """
        context = self.permissions.server_context
        own = context.model if isinstance(context.model, str) else None
        allowed = list(dict.fromkeys([*([own] if own else []), *self.permissions.models]))
        listed: list[str] = []
        note = None
        if own is not None and request.state.client.is_owner:
            try:
                listed = await list_models_of_provider(own)
            except SetupError as error:
                note = str(error)
        data = [
            {"id": model, "object": "model", "may_choose": model in allowed, "is_default": model == own}
            for model in dict.fromkeys([*allowed, *listed])
        ]
        return JSONResponse({"object": "list", "data": data, "note": note, "settings": list(MODEL_SETTINGS)})


async def list_models_of_provider(model: str) -> list[str]:
    """The specs of the models that the server of an openai: model lists; empty for another provider, which has no
    common protocol for that. Raises `SetupError` if the server does not say.
    """
    from quorum.models.list_models import list_openai_models
    from quorum.models.model_spec import read_spec

    spec = read_spec(model)
    return [f"openai:{name}" for name in await list_openai_models(spec)] if spec.provider == "openai" else []
