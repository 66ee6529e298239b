"""Placeholders in site commands and webhooks: {node} {verb} {reason} {cause} {key}.

A wrong placeholder is an error when the configuration is read, not when a node fails. {{ and }} stand for braces.
"""

import string
from collections.abc import Mapping

from holdfast.formats.slurm import fields as slurm
from holdfast.model.lifecycle import Action

PLACEHOLDERS = ("node", "verb", "reason", "cause", "key")


def check(where: str, template: object) -> None:
    """Raise ValueError, naming the place, if a template has a placeholder that we do not know."""
    if isinstance(template, str):
        _check_text(where, template)
    elif isinstance(template, Mapping):
        for name, inner in template.items():
            check(f"{where}.{name}", inner)
    elif isinstance(template, list | tuple):
        for number, inner in enumerate(template):
            check(f"{where}[{number}]", inner)


def fill(template: str, action: Action) -> str:
    return template.format_map(_values(action))


def fill_all(template: object, action: Action) -> object:
    """Fills the placeholders in every text of a JSON body."""
    if isinstance(template, str):
        return fill(template, action)
    if isinstance(template, Mapping):
        return {name: fill_all(inner, action) for name, inner in template.items()}
    if isinstance(template, list | tuple):
        return [fill_all(inner, action) for inner in template]
    return template


def _check_text(where: str, template: str) -> None:
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(template)]
    except ValueError as error:
        raise ValueError(f"{where}: {error} in {template!r}; write a literal brace twice") from None
    for name, spec, conversion in fields:
        if name is not None and (name not in PLACEHOLDERS or spec or conversion):
            raise ValueError(f"{where}: {{{name}}} is not one of {known}; write a literal brace twice")


def _values(action: Action) -> dict[str, str]:
    """The values, each as one printable line that no command interprets as an option."""
    reported = {
        "node": action.node,
        "verb": action.verb.value,
        "reason": action.reason,
        "cause": action.cause,
        "key": action.key,
    }
    return {name: slurm.plain(text).lstrip("-") for name, text in reported.items()}
