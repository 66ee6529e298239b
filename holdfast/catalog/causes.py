"""Causes of job failures: stable names, actions and advice, as rows of causes.toml."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Cause:
    name: str
    level: int
    failure_class: str
    subject: str
    action: str
    unplaced: str
    says: str
    explains: tuple[str, ...]

    def can_explain(self, other: str) -> bool:
        return other != self.name and any(fnmatchcase(other, pattern) for pattern in self.explains)


def find(name: str) -> Cause:
    return all_causes()[name]


@cache
def all_causes() -> dict[str, Cause]:
    rows = tomllib.loads(files(__package__).joinpath("causes.toml").read_text(encoding="utf-8"))
    return {
        name: Cause(
            name=name,
            level=row["level"],
            failure_class=row["class"],
            subject=row["subject"],
            action=row["action"],
            unplaced=row["unplaced"],
            says=row["says"],
            explains=tuple(row["explains"]),
        )
        for name, row in rows.items()
    }
