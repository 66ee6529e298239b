"""Every reader of bytes and text from outside: what `make fuzz` calls, found by looking for them.

A reader is a public function whose first argument is text or bytes, in a package that reads the outside. Those of
holdfast.formats are found by themselves. Any other module that decodes JSON, TOML, pickles or packed bytes must be
named in READERS or in excused.txt, or the contract test fails.
"""

import ast
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast import formats
from tests.source import modules

DECODING = {"json.loads", "tomllib.loads", "msgspec.json.decode", "pickle.loads", "struct.unpack", "yaml.safe_load",
            "msgspec.json.Decoder", "csv.reader", "struct.iter_unpack", "struct.unpack_from"}  # fmt: skip


@dataclass(frozen=True)
class Target:
    name: str
    call: Callable[[Any], object]
    takes: type  # str or bytes
    module: str


def _policy(text: str) -> object:
    from holdfast.fleet.policy import file

    return file.parse(text, "fuzz.toml")


def _wrapping(text: str) -> object:
    from holdfast.node.capture import wrapping

    return wrapping.without_markup(text), list(wrapping.carried(text))


def _facility(text: str) -> object:
    from holdfast.fleet.controller.seams import facility_file

    return facility_file.parse(text, "fuzz.toml")


def _controller(text: str) -> object:
    from holdfast.fleet.controller import settings

    return settings.parse(text, "fuzz.toml")


def _promql(text: str) -> object:
    from holdfast.fleet.facility import promql

    return promql.samples(_json_object(text))


def _json_object(text: str) -> dict[str, Any]:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ingest(body: bytes) -> object:
    from holdfast.fleet.api import ingest

    return ingest.decode(body)


def _digest(body: bytes) -> object:
    from holdfast.model.wire import digest

    return digest.unpack(body)


def _document(text: str) -> object:
    from holdfast.config.tables import Document

    return Document(text, "fuzz.toml")


def _hostnames(text: str) -> object:
    from holdfast.fleet.controller.enrolment import address_fits

    return address_fits(text, text)


def _agent(text: str) -> object:
    from holdfast.model import settings

    return settings.parse(text, "fuzz.toml", {})


def _manifest(text: str) -> object:
    from holdfast.model import manifest

    return manifest.parse(text, "fuzz.toml")


def _hosts(text: str) -> object:
    from holdfast.node.probes.isolation import hosts

    return hosts.parse(text, "fuzz.toml")


def _profiles(text: str) -> object:
    from holdfast.node.probes.stress import profiles

    return profiles.read(text, "fuzz.toml")


def _bundle(body: bytes) -> object:
    from holdfast.node.capture import bundle

    return bundle.parse(body, body, body, "fuzz.tar")


# What is not in holdfast.formats: name of the module that reads, and how it is called.
READERS: dict[str, tuple[Callable[[Any], object], type]] = {
    "fleet/api/ingest.py": (_ingest, bytes),
    "node/capture/bundle.py": (_bundle, bytes),
    "node/capture/wrapping.py": (_wrapping, str),
    "fleet/policy/file.py": (_policy, str),
    "fleet/controller/seams/facility_file.py": (_facility, str),
    "fleet/controller/settings.py": (_controller, str),
    "fleet/facility/promql.py": (_promql, str),
    "fleet/controller/enrolment.py": (_hostnames, str),
    "model/wire/digest.py": (_digest, bytes),
    "config/tables.py": (_document, str),
    "model/settings.py": (_agent, str),
    "model/manifest.py": (_manifest, str),
    "node/probes/isolation/hosts.py": (_hosts, str),
    "node/probes/stress/profiles.py": (_profiles, str),
}


def text_functions(module: Any) -> Iterator[tuple[str, Callable[[Any], object], type]]:
    """Public functions of a module whose first argument is text or bytes; other texts and numbers are made up."""
    for name, found in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("_") or found.__module__ != module.__name__:
            continue
        try:
            hints = typing.get_type_hints(found)
        except NameError:
            continue
        first, *others = list(inspect.signature(found).parameters.values()) or [None]
        needed = [one for one in others if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        kind = hints.get(first.name) if first else None
        if kind not in (str, bytes, str | bytes) or any(hints.get(one.name) not in _MADE_UP for one in needed):
            continue
        more = tuple(_MADE_UP[hints[one.name]] for one in needed)
        yield name, partial(_call, found, more) if more else found, str if kind is str else bytes


_MADE_UP: dict[Any, Any] = {str: "fuzz", int: 1, float: 1.0, str | None: "fuzz"}


def _call(found: Callable[..., object], more: tuple[Any, ...], text: Any) -> object:
    return found(text, *more)


# Public, but called with what another reader has matched already.
EXCUSED_FUNCTIONS = {"formats.fabric.subnet.guid_of", "formats.pci.address.from_requester_id"}


def targets() -> list[Target]:
    found = []
    for info in pkgutil.walk_packages(formats.__path__, "holdfast.formats."):
        if info.ispkg:
            continue
        module = importlib.import_module(info.name)
        short = info.name.removeprefix("holdfast.")
        found += [Target(f"{short}.{name}", call, kind, info.name) for name, call, kind in text_functions(module)]
    found = [one for one in found if one.name not in EXCUSED_FUNCTIONS]
    for path, (call, kind) in READERS.items():
        module_name = "holdfast." + path.removesuffix(".py").replace("/", ".")
        found.append(Target(path, call, kind, module_name))
    return found


def decoding_modules() -> set[str]:
    """Modules outside holdfast.formats that decode something."""
    found = set()
    for path, tree in modules(holding=DECODING):
        if path.startswith("formats/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in DECODING:
                found.add(path)
    return found
