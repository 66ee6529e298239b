"""Prints the runbook of an incident with its names filled in."""

from typing import Any

from holdfast.fleet.api import runbook


def filled(found: dict[str, Any]) -> list[str]:
    account = found.get("account") or {}
    jobs = sorted({one["subject"].partition("/")[2] for one in account.get("losses", [])})
    book = runbook.filled(
        found["cause"],
        str(found["subject"]),
        [str(one) for one in found["evidence"]],
        jobs,
        len(account.get("victims", [])),
        float(account.get("since", found["opened"])),
    )
    lines = [f"confirm: {one}" for one in book.confirm]
    lines += [f"{number}. {one}" for number, one in enumerate(book.act, start=1)]
    lines += [f"do not: {book.leave}"] if book.leave else []
    lines += [f"over when: {book.over}"] if book.over else []
    return lines
