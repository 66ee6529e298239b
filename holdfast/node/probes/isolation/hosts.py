"""The hosts of a probe: a TOML file with a [[host]] each, or a line each: `name address [leaf=L] [launch words...]`.

A host with several rails lists the address of each, and the leaf of each if they differ, separated by commas.
"""

import shlex
import tomllib
from dataclasses import dataclass
from typing import Any


class HostsError(ValueError):
    """The list of hosts is wrong; the message names the line or host."""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    address: str = ""  # in the fabric under test
    leaf: str = ""
    launch: tuple[str, ...] = ()  # prefix of the worker's command: ssh NAME, ip netns exec NS, srun -w NAME

    @property
    def rails(self) -> int:
        return self.address.count(",") + 1

    def address_of(self, rail: int) -> str:
        """Address of a GPU's rail. GPUs beyond the listed addresses use the first one."""
        return _listed(self.address, rail)

    def leaf_of(self, rail: int) -> str:
        return _listed(self.leaf, rail)


def slot_name(host: str, number: int) -> str:
    return f"{host}#{number}" if number else host


def host_of(slot: str) -> str:
    return slot.partition("#")[0]


def number_of(slot: str) -> int:
    return int(slot.partition("#")[2] or 0)


def _listed(text: str, place: int) -> str:
    each = text.split(",")
    return each[place] if place < len(each) else each[0]


def parse(text: str, origin: str) -> list[Host]:
    hosts = _from_toml(text, origin) if "[[host]]" in text else _from_lines(text, origin)
    names = [host.name for host in hosts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HostsError(f"{origin}: host {twice!r} is listed twice")
    if len(hosts) < 2:
        raise HostsError(f"{origin}: expected two hosts or more, found {len(hosts)}")
    return hosts


def _from_lines(text: str, origin: str) -> list[Host]:
    hosts = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise HostsError(f"{origin} line {number}: {error}") from None
        if not words:
            continue
        if len(words) < 2:
            raise HostsError(f"{origin} line {number}: expected `name address`, found {line.strip()!r}")
        leaf = next((word[5:] for word in words[2:3] if word.startswith("leaf=")), "")
        hosts.append(Host(words[0], words[1], leaf, tuple(words[3 if leaf else 2 :])))
    return hosts


def _from_toml(text: str, origin: str) -> list[Host]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostsError(f"{origin}: {error}") from None
    tables = document.get("host")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise HostsError(f"{origin}: expected [[host]] tables")
    return [_host(table, number, origin) for number, table in enumerate(tables, start=1)]


def _host(table: dict[str, Any], number: int, origin: str) -> Host:
    known = {"name", "address", "leaf", "launch"}
    if unknown := sorted(set(table) - known):
        raise HostsError(
            f"{origin}: host {number} has the unknown key {unknown[0]!r}; expected {', '.join(sorted(known))}"
        )
    launch = table.get("launch", [])
    words = launch.split() if isinstance(launch, str) else launch
    well_formed = isinstance(words, list) and all(isinstance(word, str) for word in words)
    if not isinstance(table.get("name"), str) or not well_formed:
        raise HostsError(f"{origin}: host {number} needs a name, and `launch` is a list of words")
    return Host(table["name"], str(table.get("address", "")), str(table.get("leaf", "")), tuple(words))
