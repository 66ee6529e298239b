"""Facility file: the devices of building, fabric and storage to read, in one TOML file."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.config.tables import Document
from holdfast.fleet.facility.bacnet import BacnetObject, BacnetSettings, BacnetSource
from holdfast.fleet.facility.modbus import ModbusRegister, ModbusSettings, ModbusSource
from holdfast.fleet.facility.promql import PromqlQuery, PromqlSettings, PromqlSource
from holdfast.fleet.facility.redfish_thermal import RedfishThermalSettings, RedfishThermalSource
from holdfast.fleet.facility.snmp import SnmpOid, SnmpSettings, SnmpSource
from holdfast.fleet.facility.storage import StorageSettings, StorageSource
from holdfast.model.settings import SettingsError
from holdfast.runtime.source import Source

Make = Callable[[Any], Source]
# table -> (its settings, its inner lists with their settings, its source)
KINDS: dict[str, tuple[type[Any], dict[str, type[Any]], Make]] = {
    "bacnet": (BacnetSettings, {"object": BacnetObject}, BacnetSource),
    "modbus": (ModbusSettings, {"register": ModbusRegister}, ModbusSource),
    "promql": (PromqlSettings, {"query": PromqlQuery}, PromqlSource),
    "redfish": (RedfishThermalSettings, {}, RedfishThermalSource),
    "snmp": (SnmpSettings, {"oid": SnmpOid}, SnmpSource),
    "storage": (StorageSettings, {}, StorageSource),
}


def load(path: str) -> list[Source]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    return parse(text, path)


def parse(text: str, origin: str) -> list[Source]:
    """Parses the file. All mistakes are reported at once, each with its line."""
    document = Document(text, origin)
    mistakes: list[str] = []
    found: list[Source] = []
    try:
        document.only(document.raw, KINDS, "")
    except SettingsError as error:
        mistakes.append(str(error))
    for name in KINDS.keys() & document.raw.keys():
        for number, table in enumerate(_tables(document, name, mistakes)):
            try:
                found.append(_source(document, name, f"{name}[{number}]", table))
            except SettingsError as error:
                mistakes.append(str(error))
    if mistakes:
        raise SettingsError("; ".join(sorted(mistakes)))
    return found


def _tables(document: Document, name: str, mistakes: list[str]) -> Sequence[Any]:
    tables = document.raw[name]
    if isinstance(tables, list):
        return tables
    mistakes.append(str(document.refuse("", name, f"expected [[{name}]], one table for each")))
    return ()


def _source(document: Document, name: str, place: str, table: Any) -> Source:
    settings, inner, make = KINDS[name]
    document.only(table, {one.name for one in fields(settings)}, place)
    filled = dict(table)
    for key, kind in inner.items():
        rows = table.get(key, [])
        if not isinstance(rows, list):
            raise document.refuse(place, key, f"expected [[{name}.{key}]], one table for each")
        filled[key] = [_inner(document, kind, row, f"{place}.{key}[{number}]") for number, row in enumerate(rows)]
    return make(document.fill(settings, filled, place))


def _inner(document: Document, kind: type[Any], row: Any, place: str) -> dict[str, Any]:
    """Validates the inner tables here, where the position of a mistake is known. They are built again with the outer
    table."""
    document.fill(kind, row, place)
    return dict(row)
