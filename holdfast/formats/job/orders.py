"""Messages from an agent to the training processes and keepers of its node: one JSON document each."""

from math import isfinite

import msgspec

LARGEST_ORDER = 4_096
LONGEST_TEXT = 500
LONGEST_FLUSH_SECONDS = 3_600.0


class OrderError(ValueError):
    """A message is invalid; the text says why in one sentence."""


class RankHardwareError(msgspec.Struct, tag="happened", tag_field="type", frozen=True):
    """The hardware under a rank had an error: results since then may be wrong."""

    at: float
    what: str


class Flush(msgspec.Struct, tag="flush", tag_field="type", frozen=True):
    """The node will be released soon: keepers write to storage what they hold only in memory."""

    seconds: float


Order = RankHardwareError | Flush
_decoder: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def happened(at: float, what: str) -> bytes:
    return msgspec.json.encode(RankHardwareError(at, " ".join(what.split())[:LONGEST_TEXT]))


def flush(seconds: float) -> bytes:
    return msgspec.json.encode(Flush(seconds))


def decode(text: bytes) -> Order:
    """Decodes any bytes; OrderError is the only exception."""
    try:
        order = _decoder.decode(text[: LARGEST_ORDER + 1])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise OrderError(f"expected an order of the agent: {' '.join(str(error).split())[:200]}") from None
    match order:
        case RankHardwareError(at, what):
            _require(isfinite(at), "at: expected a time")
            _require(what.isprintable() and len(what) <= LONGEST_TEXT, "what: expected some printable words")
        case Flush(seconds):
            _require(0 < seconds <= LONGEST_FLUSH_SECONDS, f"seconds: expected up to {LONGEST_FLUSH_SECONDS:g}")
    return order


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise OrderError(sentence)
