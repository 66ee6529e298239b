"""The host that the prefix of a kernel log's line names."""

import re

_HOST = re.compile(
    rb"(?:<\d+>\d? ?)?(?:\w{3} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\[\s*\d+\.\d+\]) "
    rb"([\w.-]{1,255}) (?:kernel|nv-fabricmanager|systemd-networkd)\b"
)


def kernel_host(raw: bytes) -> str:
    match = _HOST.match(raw)
    return match[1].decode("ascii") if match else ""
