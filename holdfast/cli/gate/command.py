"""`holdfast gate` in the list of commands. gate.py runs without importing Typer."""

import typer

from holdfast.cli.gate.gate import main

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def gate(context: typer.Context) -> int:
    """The scheduler's cached answer: can a workload start here? `holdfast gate --help` lists its options."""
    return main(context.args)
