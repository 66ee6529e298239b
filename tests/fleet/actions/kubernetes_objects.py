"""Any object of the Kubernetes API in memory, with versions: a change for an older version is refused, as for real."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .conftest import Answer, Request


@dataclass
class Objects:
    versions: dict[str, str]
    """The preferred version of each API group."""
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: int = 0

    def put(self, path: str, spec: Any, **meta: Any) -> None:
        self.count += 1
        *_, namespace, _, name = path.split("/")
        meta = {"name": name, "namespace": namespace, **meta, "resourceVersion": str(self.count)}
        self.held[path] = {"metadata": meta, "spec": spec}

    def answer(self, request: Request) -> Answer:
        parts = urlsplit(request.path)
        status, body = self._answer(request, parts.path, parse_qs(parts.query))
        return status, {}, json.dumps(body).encode()

    def _answer(self, request: Request, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        group = path.removeprefix("/apis/")
        if group in self.versions:
            return 200, {"preferredVersion": {"version": self.versions[group]}}
        if request.method == "GET" and "limit" in query:
            plural = path.rpartition("/")[2]
            label = query["labelSelector"][0]
            found = [one for at, one in self.held.items() if f"/{plural}/" in at and label in one["metadata"]["labels"]]
            return 200, {"metadata": {}, "items": found}
        if request.method == "POST":
            body = request.json
            path = f"{path}/{body['metadata']['name']}"
            if path in self.held:
                return 409, {"message": "there is one already"}
            self.put(path, body["spec"])
            return 201, self.held[path]
        if path not in self.held:
            return 404, {"message": "not found"}
        return (200, self.held[path]) if request.method == "GET" else self._change(path, request.json)

    def _change(self, path: str, body: Any) -> tuple[int, Any]:
        before = self.held[path]
        if (
            body["metadata"].get("resourceVersion", before["metadata"]["resourceVersion"])
            != before["metadata"]["resourceVersion"]
        ):
            return 409, {"message": "the object has been modified"}
        labels = {**before["metadata"].get("labels", {}), **body["metadata"].get("labels", {})}
        labels = {key: value for key, value in labels.items() if value is not None}
        self.put(path, {**before["spec"], **body["spec"]}, labels=labels)
        return 200, self.held[path]
