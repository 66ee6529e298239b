"""Metric files of TensorBoard and W&B: loss, gradient norm and pace of each step."""

import json
import struct

import pytest

from holdfast.formats.job import metric_files, protobuf


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def record(event: bytes) -> bytes:
    return struct.pack("<QI", len(event), 0) + event + struct.pack("<I", 0)


def scalar(step: int, wall: float, name: str, value: float, *, tensor: bool = False) -> bytes:
    simple = varint(2 << 3 | 5) + struct.pack("<f", value)
    as_tensor = field(8, field(1, 1) + field(5, struct.pack("<f", value)))
    entry = field(1, field(1, name.encode()) + (as_tensor if tensor else simple))
    return record(field(1, wall) + field(2, step) + field(5, entry))


HEAD = record(field(1, 1.0) + field(3, b"brain.Event:2"))


def events(*rows: bytes) -> str:
    return metric_files.text_of(HEAD + b"".join(rows)).decode()


def test_tensorboard_steps() -> None:
    text = events(
        scalar(1, 100.0, "train/loss", 2.5), scalar(1, 100.0, "train/grad_norm", 0.5),
        scalar(1, 100.0, "eval/loss", 9.0), scalar(3, 104.0, "train/loss", 2.25, tensor=True),
    )  # fmt: skip
    assert text == "step: 1 loss: 2.5 grad_norm: 0.5\nstep: 3 loss: 2.25 step_time: 2.000000\n"


def test_a_time_that_is_written_wins_over_the_clock() -> None:
    rows = [
        scalar(n, 10.0 * n, name, value) for n in (1, 2) for name, value in (("lm loss", 2.0), ("iteration-time", 0.5))
    ]
    assert "step: 2 loss: 2 step_time: 0.500000" in events(*rows)


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_pieces_of_any_size(piece: int) -> None:
    data = HEAD + b"".join(scalar(n, float(n), "loss", 3.0 - n / 100) for n in range(1, 20))
    parts = (data[at : at + piece] for at in range(0, len(data), piece))
    first = next(parts) if piece > 64 else data[:64]
    rest = parts if piece > 64 else (data[at : at + piece] for at in range(64, len(data), piece))
    assert b"".join(metric_files.as_text(iter([first, *rest]))) == metric_files.text_of(data)


def test_what_was_read_before_the_damage_counts() -> None:
    whole = HEAD + scalar(1, 1.0, "loss", 2.0)
    assert metric_files.text_of(whole + struct.pack("<Q", 1 << 60) + b"x" * 50) == b"step: 1 loss: 2\n"
    assert metric_files.text_of(whole + scalar(2, 2.0, "loss", 2.0)[:-9]) == b"step: 1 loss: 2\n"


def history(*rows: dict[str, object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_the_history_of_wandb() -> None:
    data = history(
        {"_step": 4, "_timestamp": 50.0, "train/loss": 2.0, "val/loss": 5.0},
        {"_step": 5, "_timestamp": 52.0, "train/loss": "NaN", "train/grad_norm": "Infinity"},
        {"_step": 6, "_timestamp": 53.0, "note": "text", "flag": True},
    )
    assert metric_files.is_one(data)
    assert metric_files.text_of(data).decode().splitlines() == [
        "step: 4 loss: 2", "step: 5 loss: nan grad_norm: inf step_time: 2.000000",
    ]  # fmt: skip


def wandb_file(*records: bytes) -> bytes:
    out = b":W&B" + b"\xee\xbe\x00"
    for one in records:
        kind = 1
        while True:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                continue
            piece, one = one[: left - 7], one[left - 7 :]
            last = not one
            now = (1 if last else 2) if kind == 1 else (4 if last else 3)
            out += struct.pack("<IHB", 0, len(piece), now) + piece
            kind = 2
            if last:
                break
    return out


def wandb_row(step: int, **values: object) -> bytes:
    items = {"_step": step, "_timestamp": float(step), **values}
    return field(
        2, b"".join(field(1, field(1, k.encode()) + field(16, json.dumps(v).encode())) for k, v in items.items())
    )


def test_the_file_of_wandb_across_its_blocks() -> None:
    data = wandb_file(*(wandb_row(n, loss=2.0, pad="x" * 900) for n in range(1, 101)))
    assert len(data) > 2 * 32768
    lines = metric_files.text_of(data).decode().splitlines()
    assert lines[0] == "step: 1 loss: 2"
    assert lines[-1] == "step: 100 loss: 2 step_time: 1.000000"
    assert len(lines) == 100


@pytest.mark.parametrize("data", [b"", b"\x08", b"\xff" * 30, b"\x0a\x7f", field(1, b"a")[:-1]])
def test_a_damaged_message_ends(data: bytes) -> None:
    assert [*protobuf.fields(data)] == []


def test_an_ordinary_log_is_none() -> None:
    assert not metric_files.is_one(b"step 1 loss 2.0\n")
    assert not metric_files.is_one(b'{"message": "a", "_timestamp": 1}\n')
