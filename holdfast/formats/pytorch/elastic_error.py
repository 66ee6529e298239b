"""torchrun's error file of a worker (`error.json`): one line of JSON with a traceback."""

import msgspec


class NotAnErrorFile(ValueError):
    """The text is not an error file of torchrun, but an ordinary log."""


def is_one(head: bytes) -> bool:
    return head.lstrip().startswith(b'{"message"') and b"py_callstack" in head


def as_text(raw: bytes) -> bytes:
    """The traceback as the worker would have printed it, or the message if there is none. Raises NotAnErrorFile."""
    try:
        document = msgspec.json.decode(raw)["message"]
        message, stack = str(document["message"]), str(document["extraInfo"]["py_callstack"])
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAnErrorFile(str(error)) from None
    last = message.partition("\n")[0]
    text = stack.rstrip("\n") if last in stack else f"{stack.rstrip(chr(10))}\n{message}"
    return text.encode("utf-8", "replace") + b"\n"
