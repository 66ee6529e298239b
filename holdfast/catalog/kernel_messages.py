"""Kernel messages that matter on a GPU node, as rows of kernel_messages.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PCI = r"(?P<device>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_NUMBER = r"\d{1,9}"
_DRM = r"\[drm(?::[\w.]{1,80}(?: \[amdgpu\])?)?\] "
_AMD = (  # messages of a driver part that serves all devices name no device
    rf"(?:amdgpu(?: {_PCI})?: (?:amdgpu: )?(?:{_DRM})?|\[drm:[\w.]{{1,80}} \[amdgpu\]\] )"
    r"(?:\*ERROR\* )?(?:\{\d{1,20}\})?"
)
_BLOCK_LAYER = r"(?:blk_update_request|end_request|print_req_error): "
_LUSTRE_TARGET = r"(?P<device>[\w.@-]{1,255}?)(?:-(?:osc|mdc|osp|lwp)-\w{1,64})?"


class KernelMessage(NamedTuple):
    code: str
    severity: str
    action: str
    pattern: str

    @property
    def regex(self) -> re.Pattern[str]:
        return _compiled(self.pattern)


class KernelMessageGroup(NamedTuple):
    kind: str
    keywords: tuple[str, ...]
    messages: tuple[KernelMessage, ...]


@cache
def groups() -> tuple[KernelMessageGroup, ...]:
    text = files(__package__).joinpath("kernel_messages.toml").read_text(encoding="utf-8")
    return tuple(
        KernelMessageGroup(group["kind"], tuple(group["keywords"]), tuple(_message(*row) for row in group["messages"]))
        for group in tomllib.loads(text)["group"]
    )


def _message(code: str, severity: str, action: str, regex: str) -> KernelMessage:
    expanded = (
        regex.replace("$AMD", _AMD).replace("$PCI", _PCI).replace("$N", _NUMBER).replace("$LUSTRE", _LUSTRE_TARGET)
    )
    expanded = expanded.replace("$BLOCK", _BLOCK_LAYER)
    return KernelMessage(code, severity, action, expanded)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The compiled expression. It is compiled on first use, because a log needs few of the hundred."""
    return re.compile(pattern, re.IGNORECASE)
