"""What the API's own OpenAPI document says of an answer: no field of it may be missing, and none may be added."""

import json
import re
import threading
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import msgspec

from holdfast.fleet.api.app import Front
from holdfast.fleet.api.problem import ProblemBody
from holdfast.fleet.api.service import Service

_MAKING = threading.Lock()
EVENTS = {"node": "NodeView", "fleet": "FleetView", "transition": "TransitionView", "incident": "Incident"}
"""The event stream has no schema of its own."""


def faults(method: str, path: str, status: int, body: object) -> list[str]:
    """Where an answer is not what the document promises."""
    if status >= 400:
        return _differences(_refusal(), body, f"{method} {path} {status}")
    answers = next((one for pattern, one in _paths() if pattern.fullmatch(path)), {}).get(method.lower())
    if answers is None:
        return [f"{method} {path}: the API has no such route"]
    content = answers["responses"].get(str(status), {}).get("content", {})
    if "application/json" not in content:
        return [f"{method} {path}: the API never answers {status} with JSON"]
    return _differences(content["application/json"]["schema"], body, f"{method} {path}")


def event_faults(kind: str, data: object) -> list[str]:
    if kind not in EVENTS:
        return [f"event {kind}: the API has no such event"]
    return _differences({"$ref": f"#/components/schemas/{EVENTS[kind]}"}, data, f"event {kind}")


def _differences(schema: dict[str, Any], body: object, subject: str) -> list[str]:
    found = _validator().descend(json.loads(json.dumps(body)), schema)
    return [f"{subject}: {error.json_path}: {error.message[:200]}" for error in found]


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_document())


def _document() -> dict[str, Any]:
    """Made once: threads of the mock that made it at the same time ended the whole test process with a fault in its
    memory."""
    with _MAKING:
        return _made()


@cache
def _made() -> dict[str, Any]:
    """Made of routes and types alone, so no server runs. Closed: a field that it does not name is a fault."""
    front = Front(cast(Service, SimpleNamespace(console="")))
    document = json.loads(msgspec.json.encode(front.litestar.openapi_schema.to_schema()))
    schemas = document["components"]["schemas"]
    schemas["Incident"] = _without(schemas["IncidentView"], "figures")  # as the stream sends it
    for schema in schemas.values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return cast(dict[str, Any], document)


def _without(schema: dict[str, Any], field: str) -> dict[str, Any]:
    properties = {name: kind for name, kind in schema["properties"].items() if name != field}
    return {**schema, "properties": properties, "required": [name for name in schema["required"] if name != field]}


@cache
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """A parameter at the end may hold slashes (`/v1/incidents/cdu/c2`), so the longer path is tried first, and one
    without parameters before: `/v1/series/subjects` is not a series of that name."""
    paths = sorted(_document()["paths"].items(), key=lambda one: ("{" in one[0], -one[0].count("/")))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", re.sub(r"\{\w+\}$", ".+", path))), kinds) for path, kinds in paths]


@cache
def _refusal() -> dict[str, Any]:
    """No route lists its refusals: all have this one body."""
    schema = msgspec.json.schema(ProblemBody)
    named: dict[str, Any] = schema["$defs"]["ProblemBody"]
    return {**named, "additionalProperties": False}
