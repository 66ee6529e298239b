"""DCGM field names, as dcgm-exporter prints them, to our signals."""

from functools import cache
from typing import NamedTuple

from holdfast.catalog.table import rows


class DcgmField(NamedTuple):
    signal: str
    factor: float


@cache
def fields() -> dict[str, DcgmField]:
    return {row["field"]: DcgmField(row["signal"], float(row["factor"])) for row in rows("dcgm_fields.csv")}
