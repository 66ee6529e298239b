"""Reads the catalog's CSV files: facts with a header comment that names their source."""

import csv
from importlib.resources import files


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file beside this module; lines that begin with '#' are comments."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
