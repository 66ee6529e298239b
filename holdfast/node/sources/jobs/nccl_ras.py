"""Asks the RAS service of a live NCCL job (port 28028 of any of its nodes)."""

import socket

PORT = 28028
_TIMEOUT_SECONDS = 15.0
_MOST_BYTES = 64 << 20


def ask(host: str, port: int = PORT, timeout_seconds: float = _TIMEOUT_SECONDS) -> str:
    """The verbose status of the job, as JSON if the service supports it. Raises OSError."""
    with socket.create_connection((host, port), timeout_seconds) as line:
        line.sendall(b"SET FORMAT json\nTIMEOUT 10\nVERBOSE STATUS\n")
        answer = bytearray()
        while len(answer) < _MOST_BYTES and (piece := line.recv(1 << 16)):
            answer += piece
    return _without_replies(answer.decode("utf-8", "replace"))


def _without_replies(answer: str) -> str:
    """Older services refuse the format with one line and continue."""
    lines = answer.splitlines(keepends=True)
    while lines and lines[0].startswith(("OK", "ERROR", "SERVER PROTOCOL")):
        lines.pop(0)
    return "".join(lines)
