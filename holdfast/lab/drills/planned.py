"""Announced work in a drill file."""

from holdfast.config.tables import ConfigTable
from holdfast.seams.planned import DOMAINS, PlannedWork


def read_planned(table: ConfigTable) -> PlannedWork:
    subjects = table.raw("subjects")
    if not isinstance(subjects, list) or not subjects or not all(isinstance(one, str) for one in subjects):
        raise table.wrong("subjects", 'expected subjects such as ["cdu/c1"]')
    start, end = table.seconds("start"), table.seconds("end")
    if end <= start:
        raise table.wrong("end", "expected an end after the start")
    what = table.text("what", "", ("", *DOMAINS))
    made = PlannedWork(name=table.text("name"), subjects=tuple(subjects), start=start, end=end, what=what)
    table.done()
    return made
