"""Reads the price sheet: prices and SLAs of suppliers for their nodes."""

from dataclasses import dataclass

from holdfast.config.tables import ConfigTable, Document
from holdfast.config.text_file import read_text
from holdfast.economics.costs.claims import Agreement, Tier
from holdfast.formats.slurm import hostlist


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplier:
    name: str
    price: float  # per GPU-hour
    gpus_per_node: int
    nodes: frozenset[str]  # empty: all nodes that no other supplier names
    agreement: Agreement | None


@dataclass(frozen=True, slots=True)
class Sheet:
    suppliers: tuple[Supplier, ...]
    checkpoint_interval: float  # 0: not given

    def of(self, node: str) -> Supplier | None:
        """The supplier of a node: the one that names it, or the one with the rest; None: no price."""
        named = (one for one in self.suppliers if node in one.nodes)
        return next(named, next((one for one in self.suppliers if not one.nodes), None))


def load(path: str) -> Sheet:
    document = Document(read_text(path), path)
    top = ConfigTable(document, document.raw, "")
    top.only(("supplier", "checkpoint_interval"))
    tables = top.raw("supplier", [])
    if not isinstance(tables, list) or not tables:
        raise document.refuse("", "supplier", "expected at least one table headed [[supplier]]")
    suppliers = tuple(_supplier(ConfigTable(document, one, f"supplier[{number}]")) for number, one in enumerate(tables))
    _refuse_twice(document, suppliers)
    return Sheet(suppliers, top.seconds("checkpoint_interval", "0s"))


def _refuse_twice(document: Document, suppliers: tuple[Supplier, ...]) -> None:
    """Refuses a node with two suppliers, and two suppliers for the rest."""
    for number, one in enumerate(suppliers):
        for other in suppliers[:number]:
            if one.name == other.name:
                raise document.refuse(f"supplier[{number}]", "name", f"another supplier is called {one.name!r} already")
            if not one.nodes and not other.nodes:
                raise document.refuse(
                    f"supplier[{number}]", "nodes", f"is missing: {other.name!r} has the rest already"
                )
            if shared := one.nodes & other.nodes:
                raise document.refuse(f"supplier[{number}]", "nodes", f"{min(shared)} is of {other.name!r} already")


def _supplier(table: ConfigTable) -> Supplier:
    name, label = table.text("name"), table.text("nodes", "")
    try:
        nodes = frozenset(hostlist.expand(label)) if label else frozenset[str]()
    except ValueError as error:
        raise table.wrong("nodes", str(error)) from None
    made = Supplier(
        name=name,
        price=table.number("price_per_gpu_hour", None, 0.0, 1e6),
        gpus_per_node=table.integer("gpus_per_node", 8, 1, 10_000),
        nodes=nodes,
        agreement=_agreement(table, name),
    )
    table.done()
    return made


def _agreement(table: ConfigTable, name: str) -> Agreement | None:
    tiers, days = table.raw("sla", []), table.integer("claim_days", 30, 1, 3650)
    wanted = "expected a list such as [{ uptime = 0.999, credit = 0.1 }]"
    if not isinstance(tiers, list):
        raise table.wrong("sla", f"{wanted}, found {tiers!r}")
    made = []
    for tier in tiers:
        if not isinstance(tier, dict) or tier.keys() != {"uptime", "credit"}:
            raise table.wrong("sla", f"{wanted}, found {tier!r}")
        uptime, credit = tier["uptime"], tier["credit"]
        if not all(type(one) in (int, float) and 0 <= one <= 1 for one in (uptime, credit)):
            raise table.wrong("sla", f"{wanted}, found {tier!r}")
        made.append(Tier(float(uptime), float(credit)))
    return Agreement(name=name, tiers=tuple(made), claim_days=days) if made else None
