"""Subjects that a drill may name, with the nearest one for a misspelled name."""

from collections.abc import Iterable

from holdfast.config.suggest import hint
from holdfast.config.tables import ConfigTable
from holdfast.lab.drills.compound import ALL_SIGNALS
from holdfast.lab.twin.plant.layout import JobSpec, Layout
from holdfast.lab.twin.plant.sensors import USUAL_SIGNAL
from holdfast.lab.twin.plant.signals import subjects

DOMAINS = ("room", "cdu", "rack", "feed", "psu", "link", "storage", "job", "path")


class KnownSubjects:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.signals = subjects(layout)
        self.by_type: dict[str, tuple[str, ...]] = {
            "room": layout.rooms, "cdu": layout.cdus, "rack": layout.racks, "feed": layout.feeds, "psu": layout.psus,
            "node": layout.nodes, "gpu": layout.gpus, "port": layout.ports, "leaf": layout.leaves,
            "spine": layout.spines, "rail": layout.rails, "link": layout.links, "domain": DOMAINS,
            "storage": tuple(f"storage/{name}" for name in layout.storages),
            "job": tuple(f"job/{spec.name}" for spec in layout.jobs),
            "rank": self.signals.get("rank_compute_seconds", ()),
            "path": layout.serving.paths if layout.serving else (),
        }  # fmt: skip

    def subject(self, table: ConfigTable, types: Iterable[str]) -> str:
        """Returns the subject that the table names, of one of these types."""
        text = table.text("subject")
        if "software" in types and text.startswith("software/") and len(text) > len("software/"):
            return text
        if "any" in types:
            types = tuple(name for name in self.by_type if name != "domain")
        known = [subject for name in types for subject in self.by_type.get(name, ())]
        if text in known:
            return text
        wanted = " or ".join(types)
        if not known and "software" not in types:
            raise table.wrong("subject", f"expected a {wanted}, and this drill has none")
        advice = "such as software/driver-570.2" if "software" in types else self.near(text, known)
        raise table.wrong("subject", f"there is no {wanted} {text!r}; {advice}")

    def signal(self, table: ConfigTable, subject: str) -> str:
        mine = [name for name, who in self.signals.items() if subject in who]
        kind = "gpu" if "/gpu/" in subject else subject.partition("/")[0]
        signal = table.text("signal", USUAL_SIGNAL.get(kind, mine[0] if mine else ""))
        if signal != ALL_SIGNALS and signal not in mine:
            raise table.wrong("signal", f"{subject} has no signal {signal!r}; {self.near(signal, mine)}")
        return signal

    def job(self, subject: str) -> JobSpec:
        return next(spec for spec in self.layout.jobs if f"job/{spec.name}" == subject)

    @staticmethod
    def near(text: str, known: Iterable[str]) -> str:
        return hint(text, known, cutoff=0.4, most=6)
