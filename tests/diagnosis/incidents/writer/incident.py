"""One incident: the files of a failed (or healthy) job, and what a diagnosis of them must say."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Incident:
    name: str
    story: str
    files: dict[str, list[str]]
    cause: str | None  # None: nothing is wrong
    action: str | None = None
    subject: str = ""  # how the subject ends, '' where nothing tells it
    exclude: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # further causes that must be reported
    never: tuple[str, ...] = ()  # causes that must not be reported at all
    checkpoint: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def write(self) -> None:
        folder = HERE / self.name
        for name, lines in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        expected = {
            "story": self.story, "cause": self.cause, "action": self.action, "subject": self.subject,
            "exclude": list(self.exclude), "also": list(self.also), "never": list(self.never),
            "checkpoint": self.checkpoint,
        }  # fmt: skip
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
