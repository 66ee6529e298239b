"""Every reader of the outside is fuzzed: a short run here, a longer one with `make fuzz`, a million each in soak."""

import pickle
from pathlib import Path

import pytest

from holdfast.formats.pytorch import flight_recorder, plain_pickle
from tests.fuzz import run
from tests.fuzz.run import in_a_process
from tests.fuzz.targets import EXCUSED_FUNCTIONS, READERS, Target, decoding_modules, targets
from tests.source import ROOT

# They decode only what this project wrote itself, in a place that only its user can write, or what a library checks.
EXCUSED = {line for line in (Path(__file__).parent / "excused.txt").read_text().split("\n") if line}


def test_every_module_that_decodes_is_fuzzed_or_excused() -> None:
    unknown = decoding_modules() - READERS.keys() - EXCUSED
    assert unknown == set(), "name them in READERS of tests/fuzz/targets.py, or in tests/fuzz/excused.txt"
    gone = {one for one in READERS.keys() | EXCUSED if not (ROOT / one).exists()}
    assert gone == set()


def test_the_readers_are_found() -> None:
    names = [one.name for one in targets()]
    assert len(names) > 80
    assert len(names) == len(set(names))
    assert not EXCUSED_FUNCTIONS & set(names)


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda one: one.name)
def test_nothing_escapes(target: Target) -> None:
    assert in_a_process(target, 400, seed=7).failure == ""


@pytest.mark.soak
@pytest.mark.parametrize("target", targets(), ids=lambda one: one.name)
def test_nothing_escapes_a_million(target: Target) -> None:
    assert in_a_process(target, 1_000_000, seed=8).failure == ""


def _raises(text: str) -> object:
    raise OverflowError("int too large to convert to float")


def _hangs(text: str) -> object:
    while True:
        pass


def _grows(text: str) -> object:
    return bytearray(1 << 30)


@pytest.mark.parametrize(("reader", "why"), [(_raises, "OverflowError"), (_hangs, "0.1 s"), (_grows, "512 MB")])
def test_an_escape_two_seconds_and_512_megabytes_are_failures(
    reader: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.SECONDS == 2.0
    monkeypatch.setattr(run, "SECONDS", 0.1)
    found = in_a_process(Target("x", reader, str, "tests.fuzz.run"), 3, seed=1)  # type: ignore[arg-type]
    assert why in found.failure


def bomb(levels: int, opcode: bytes, more: bytes = b"") -> bytes:
    """A dictionary whose key is a tuple of two references to a tuple of two references..., in some hundred bytes."""
    body = b"\x80\x02})q\x000"
    for level in range(levels):
        fetch = b"h" + bytes([level])
        start = b"(" if opcode == b"t" else b""
        body += start + fetch + fetch + more + opcode + b"q" + bytes([level + 1]) + b"0"
    return body + b"h" + bytes([levels]) + b"K\x01s."


@pytest.mark.parametrize(("opcode", "more"), [(b"\x86", b""), (b"\x87", b"N"), (b"t", b""), (b"t", b"K\x01")])
def test_a_pickle_of_shared_tuples_is_refused_at_once(opcode: bytes, more: bytes) -> None:
    assert len(bomb(60, opcode, more)) < 800
    with pytest.raises(plain_pickle.PickleRefused, match="stands for more"):
        plain_pickle.load(bomb(60, opcode, more))
    with pytest.raises(flight_recorder.NotADump):
        flight_recorder.parse(bomb(60, opcode, more), "rank0")
    assert plain_pickle.load(bomb(10, opcode, more))


def test_shared_lists_and_a_list_in_itself_are_refused() -> None:
    shared: list[object] = []
    for _ in range(60):
        shared = [shared, shared]
    own: list[object] = []
    own.append(own)
    for value in (shared, own, {"a": {"b": shared}}):
        with pytest.raises(plain_pickle.PickleRefused):
            plain_pickle.load(pickle.dumps(value, protocol=2))


def test_plain_values_are_read_as_before() -> None:
    value = {"a": [1, 2.5, "x", None, True, (1, (2, 3))], "b": {"c": [[1, 2]] * 50}}
    for protocol in range(5):
        assert plain_pickle.load(pickle.dumps(value, protocol=protocol)) == value
