"""Progress messages of a training process: one JSON document each. Untrusted: any program may send them."""

from math import isfinite

import msgspec

from holdfast.model.wire.keeper import Holdings
from holdfast.model.wire.progress import LARGEST_STEP, LONGEST_NAME, MOST_LINKS, MOST_RANKS

LARGEST_MESSAGE = 64 << 10
MOST_ROWS = 512
LONGEST_STEP_SECONDS = 7 * 86_400.0


class ProgressError(ValueError):
    """A message is invalid; the text says why in one sentence."""


class Hello(msgspec.Struct, tag="hello", tag_field="type", frozen=True):
    """The sender; the first message of a connection, sent once."""

    job: str
    rank: int
    world: int
    session: str
    began: float
    node: str = ""
    gpu: int | None = None
    group: str = ""


class ProgressStep(msgspec.Struct, array_like=True, frozen=True):
    step: int
    at: float
    seconds: float
    data: float
    compute: float
    wait: float
    checkpoint: float
    tokens: float = 0.0
    loss: float | None = None
    gradient_norm: float | None = None
    links: dict[str, float] | None = None


class Steps(msgspec.Struct, tag="steps", tag_field="type", frozen=True):
    rows: list[ProgressStep]
    split: bool = False
    saved_step: int = -1
    dropped: int = 0


class Ended(msgspec.Struct, tag="ended", tag_field="type", frozen=True):
    at: float = 0.0


class KeeperProgress(msgspec.Struct, tag="keeper", tag_field="type", frozen=True):
    """State of a checkpoint keeper: the newest step that it holds and storage lacks (-1 for none), and what it holds
    where, if it reports that."""

    job: str
    unsaved_step: int = -1
    holds: Holdings | None = None


Message = Hello | Steps | Ended | KeeperProgress
_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_encoder = msgspec.json.Encoder()


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(text: bytes) -> Message:
    """Decodes any bytes; ProgressError is the only exception."""
    if len(text) > LARGEST_MESSAGE:
        raise ProgressError(f"a progress message has {len(text)} bytes, expected at most {LARGEST_MESSAGE}")
    try:
        message = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ProgressError(f"expected a progress message: {' '.join(str(error).split())[:200]}") from None
    match message:
        case Hello():
            _check_hello(message)
        case Steps():
            _check_steps(message)
        case Ended():
            _require(isfinite(message.at), "at: expected a time")
        case KeeperProgress():
            _check_job(message.job)
            _require(-1 <= message.unsaved_step <= LARGEST_STEP, "unsaved_step: expected a step")
    return message


def _check_job(job: str) -> None:
    _require(0 < len(job) <= LONGEST_NAME and job.isprintable(), "job: expected a short printable name")
    _require("/" not in job, "job: expected a name without a slash")


def _check_hello(hello: Hello) -> None:
    _check_job(hello.job)
    for name, text, least in (("session", hello.session, 1), ("group", hello.group, 0)):
        _require(least <= len(text) <= LONGEST_NAME and text.isprintable(), f"{name}: expected a short printable name")
    _require(len(hello.node) <= 255 and hello.node.isprintable(), "node: expected a host name")
    _require(
        0 <= hello.rank < hello.world <= MOST_RANKS, f"rank {hello.rank} of {hello.world}: expected 0 <= rank < world"
    )
    _require(hello.gpu is None or 0 <= hello.gpu < 1024, "gpu: expected 0 to 1023")
    _require(isfinite(hello.began), "began: expected a time")


def _check_steps(steps: Steps) -> None:
    _require(len(steps.rows) <= MOST_ROWS, f"rows: expected at most {MOST_ROWS}")
    _require(-1 <= steps.saved_step <= LARGEST_STEP, "saved_step: expected a step")
    _require(0 <= steps.dropped <= LARGEST_STEP, "dropped: expected a count")
    for row in steps.rows:
        _require(0 <= row.step <= LARGEST_STEP, "step: expected a number of at least 0")
        times = (row.seconds, row.data, row.compute, row.wait, row.checkpoint)
        _require(all(0 <= one <= LONGEST_STEP_SECONDS for one in times), "a time: expected seconds of at least 0")
        _require(0 <= row.tokens <= 1e15, "tokens: expected a count")
        _require(isfinite(row.at), "at: expected a time")
        links = row.links or {}
        _require(len(links) <= MOST_LINKS, f"links: expected at most {MOST_LINKS}")
        for name, seconds in links.items():
            short = 0 < len(name) <= LONGEST_NAME and name.isprintable()
            _require(short and 0 <= seconds <= LONGEST_STEP_SECONDS, "links: expected short names and seconds")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise ProgressError(sentence)
