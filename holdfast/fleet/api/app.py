"""The HTTP application: reports go straight to ingest, everything else through Litestar; it serves the console too."""

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from litestar import Litestar, MediaType, Request, Response, get
from litestar.config.compression import CompressionConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.static_files import create_static_files_router
from litestar.types import ControllerRouterHandler

from holdfast import __version__
from holdfast.fleet.api.guard import guard, on_deep_body, on_http_error, on_mistake, on_problem, on_store_error
from holdfast.fleet.api.ingest import PATH, Ingest, Receive, Scope, Send
from holdfast.fleet.api.metrics import exporter as metrics
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.routes import (
    drills,
    fleet,
    history,
    inbox,
    jobs,
    live,
    nodes,
    parts,
    plan,
    probes,
    seams,
    session,
)
from holdfast.fleet.api.service import Service
from holdfast.fleet.store import StoreError

log = logging.getLogger(__name__)

LARGEST_BODY = 1 << 20
# 12,500 nodes are 3.8 MB of JSON and 100 kB compressed. The lowest level takes a quarter of the time of the highest.
COMPRESSION = CompressionConfig("gzip", minimum_size=4_096, gzip_compress_level=1, exclude_opt_key="stream")
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "content-security-policy": _PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ENCODED_HEADERS = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class Front:
    """Dispatches reports to the ingest without the cost of routing, and everything else to the framework."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ingest = Ingest(service)
        self.litestar = _litestar(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except asyncio.CancelledError:
            if not self._service.board.ending:
                raise
            log.info("%s did not end before the controller did", scope["path"])

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and _is_for_reports(scope["path"]):
            await self._ingest(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].startswith("/v1/"):
            await self.litestar({**scope, "method": "GET"}, receive, _with_security_headers(_bodiless(send)))  # type: ignore[arg-type]
        else:
            await self.litestar(scope, receive, _with_security_headers(send))  # type: ignore[arg-type]


def _is_for_reports(path: str) -> bool:
    """Whether the path is that of reports, with any number of slashes: the framework would accept /v1/reports/ without
    a quota."""
    return path == PATH or (path.startswith("/") and [part for part in path.split("/") if part] == PATH.split("/")[1:])


def _bodiless(send: Send) -> Send:
    """Answers HEAD requests for the console without a body."""

    async def pass_on(message: MutableMapping[str, Any]) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return pass_on


def _with_security_headers(send: Send) -> Send:
    """Adds headers so that browsers trust the stated type, load nothing from other hosts, and send no referrer."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_ENCODED_HEADERS]}
        await send(message)

    return send_with_headers


def _litestar(service: Service) -> Litestar:
    def provide_service() -> Service:
        return service

    return Litestar(
        [
            *nodes.ROUTES,
            *parts.ROUTES,
            *drills.ROUTES,
            *fleet.ROUTES,
            *jobs.ROUTES,
            *history.ROUTES,
            *inbox.ROUTES,
            *live.ROUTES,
            *metrics.ROUTES,
            *plan.ROUTES,
            *probes.ROUTES,
            *seams.ROUTES,
            *session.ROUTES,
            *_console(service.console),
        ],
        state=State({"service": service}),
        dependencies={"service": Provide(provide_service, sync_to_thread=False, use_cache=True)},
        guards=[guard],
        exception_handlers={
            Problem: on_problem,
            HTTPException: on_http_error,
            StoreError: on_store_error,
            RecursionError: on_deep_body,
            Exception: on_mistake,
        },
        openapi_config=OpenAPIConfig(
            title="Holdfast",
            version=__version__,
            path="/schema",
            description="Nodes, their history, and requests.",
            # other plugins load scripts from other hosts
            render_plugins=[JsonRenderPlugin(path=["/openapi.json", "/"])],
        ),
        compression_config=COMPRESSION,
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )


def _console(directory: str) -> list[ControllerRouterHandler]:
    if not directory or not (Path(directory) / "index.html").is_file():
        return [_no_console]
    files = (one.relative_to(directory).as_posix() for one in Path(directory).rglob("*") if one.is_file())
    names = frozenset(["", *files])

    def refuse_others(request: Request[Any, Any, Any]) -> None:
        """Refuses paths that are not files of the console, so that only their names reach the file system."""
        if request.scope["path"].strip("/") not in names:
            raise HTTPException("no such page", status_code=404)

    return [
        create_static_files_router(
            path="/", directories=[directory], html_mode=True, include_in_schema=False, before_request=refuse_others
        )
    ]


@get("/", include_in_schema=False)
async def _no_console() -> Response[str]:
    text = "The console is not built here; the API is at /schema, its document at /schema/openapi.json.\n"
    return Response(text, media_type=MediaType.TEXT)
