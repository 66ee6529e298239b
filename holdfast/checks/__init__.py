"""Every question Holdfast asks. To add one: its file, one line in ALL, one test."""

from holdfast.checks.check import Check

ALL: tuple[Check, ...] = ()

BY_NAME = {check.name: check for check in ALL}

STAGES: dict[str, tuple[str, ...]] = {"passive": (), "bootstrap": ()}
