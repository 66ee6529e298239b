"""Xid codes: meaning, remedy, and the rules by which one Xid changes the meaning of another."""

from dataclasses import dataclass
from functools import cache

from holdfast.catalog.table import rows

DECODE = "decode"
FOLLOW_TEXT = "follow_text"
FOLLOW_154 = "follow_xid_154"
CONTACT_SUPPORT = "contact_support"

RECOVERY_ACTIONS = {0: "ignore", 1: "reset_gpu", 2: "restart_node", 3: "drain_p2p", 4: "drain_and_reset"}
"""The number an Xid 154 line carries (NVML's recovery action) -> our action class."""

RECOVERY_WORDS = {
    "none": "ignore",
    "reset": "reset_gpu",
    "flr": "reset_gpu",
    "reboot": "restart_node",
    "drain and reset": "drain_and_reset",
    "drain p2p": "drain_p2p",
}
"""The words of an Xid 154 line, for drivers that print no number; the longest that fits decides."""

SEVEREST_FIRST = ("restart_node", "drain_and_reset", "reset_gpu", CONTACT_SUPPORT, FOLLOW_154, "ignore")


@dataclass(frozen=True, slots=True)
class Xid:
    code: int
    mnemonic: str
    action: str
    meaning: str
    known: bool = True
    not_alone: bool = False  # alone, this Xid never takes a node out of service
    cascade: bool = False  # means nothing after another Xid of the same GPU
    details: int | None = None  # gives details of another Xid with this code


@dataclass(frozen=True, slots=True)
class NvlinkRule:
    xid: int
    units: frozenset[str]
    status: int | None
    patterns: tuple[tuple[int, int], ...]  # (mask, bits) of the interrupt word, one per driver layout
    action: str

    def matches(self, intrinfo: int) -> bool:
        return any(intrinfo & mask == bits for mask, bits in self.patterns)


def find(code: int) -> Xid:
    """The entry of a code. An unlisted code is reported too, with the advice to contact support."""
    return _all().get(code) or Xid(code, "", CONTACT_SUPPORT, "not in the catalog", known=False)


def all_codes() -> tuple[Xid, ...]:
    return tuple(_all().values())


def nvlink_action(xid: int, unit: str, intrinfo: int, status: int) -> str:
    """The action of an NVLink 5 Xid by its sub-code; '' if no rule matches."""
    rules = [rule for rule in _nvlink_rules() if rule.xid == xid and unit in rule.units]
    laid_out = [rule for rule in rules if rule.matches(intrinfo)] or rules
    exact = {rule.action for rule in laid_out if rule.status in (status, None)}
    if not exact:  # several status bits at once: the severest of them decides
        exact = {rule.action for rule in laid_out if rule.status and rule.status & status == rule.status}
    return next((action for action in SEVEREST_FIRST if action in exact), "")


def recovery_action(number: int | None, text: str) -> str:
    """The action that an Xid 154 requests. An unknown action means: contact support."""
    if number in RECOVERY_ACTIONS:
        return RECOVERY_ACTIONS[number]
    fitting = [word for word in RECOVERY_WORDS if word in text.lower()]
    return RECOVERY_WORDS[max(fitting, key=len)] if fitting else CONTACT_SUPPORT


@cache
def _all() -> dict[int, Xid]:
    return {int(row["code"]): _xid(row) for row in rows("xid.csv")}


def _xid(row: dict[str, str]) -> Xid:
    rules = dict(rule.partition(":")[::2] for rule in row["rules"].split())
    return Xid(
        int(row["code"]),
        row["mnemonic"],
        row["action"],
        row["meaning"],
        not_alone="not_alone" in rules,
        cascade="cascade" in rules,
        details=int(rules["details"]) if "details" in rules else None,
    )


@cache
def _nvlink_rules() -> tuple[NvlinkRule, ...]:
    return tuple(
        NvlinkRule(
            int(row["xid"]),
            frozenset(row["units"].split()),
            int(row["status"], 16) if row["status"] else None,
            (_bits(row["intrinfo_r575"]), _bits(row["intrinfo_before_r575"])),
            row["action"],
        )
        for row in rows("xid_nvlink5.csv")
    )


def _bits(pattern: str) -> tuple[int, int]:
    mask = "".join("0" if char == "-" else "1" for char in pattern)
    return int(mask, 2), int(pattern.replace("-", "0"), 2)
