"""Log lines that confirm a presumed loss: completion or retry errors that no transport recovers from."""

from holdfast.catalog import job_messages
from holdfast.formats.job import line as job_line
from holdfast.formats.job import message as job_message

_GROUPS = tuple(group for group in job_messages.groups() if group.kind in ("nccl.completion", "nccl.async"))
_WORDS = tuple({keyword.encode() for group in _GROUPS for keyword in group.keywords})
_CAUSES = ("fabric.retry_exceeded", "fabric.port_down", "fabric.hca")


def confirms(line: bytes) -> bool:
    if not any(word in line for word in _WORDS):
        return False
    read = job_line.decode(line.rstrip(b"\r\n"))
    return any(
        found.role == "strong" and found.cause in _CAUSES
        for group in _GROUPS
        if (found := job_message.find(group, read)) is not None
    )
