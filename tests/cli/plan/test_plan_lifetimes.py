"""`holdfast plan risk --lifetimes`: the rate from one's own parts, who survives, and whether two cohorts differ."""

import json
from math import exp, log
from pathlib import Path

import pytest

from holdfast.cli.app import run

RUN = ["plan", "risk", "--gpus", "256", "--days", "30"]


def cohort(path: Path, rate: float, count: int = 200) -> str:
    """Evenly spread lifetimes of a constant rate, watched for five years."""
    ends = [-(1 / rate) * log(1 - (number + 0.5) / count) for number in range(count)]
    rows = [f"{number},{min(5.0, end):.6f},{end < 5}" for number, end in enumerate(ends)]
    path.write_text("\n".join(["device,years,died", *rows]))
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run([*RUN, *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_file_gives_the_rate_and_who_survives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "--lifetimes", cohort(tmp_path / "a.csv", 0.2))
    assert found["rate_95_percent"][0] < 0.2 < found["rate_95_percent"][1]  # type: ignore[index]
    surviving: dict[str, float] = found["surviving_by_years"]  # type: ignore[assignment]
    assert surviving == pytest.approx({years: exp(-0.2 * float(years)) for years in surviving}, abs=0.01)
    assert set(surviving) == {"0.5", "1", "2", "3", "5"}
    assert found["weibull_shape"] == pytest.approx(1, abs=0.05)


def test_two_cohorts_are_distinguished_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = cohort(tmp_path / "a.csv", 0.2), cohort(tmp_path / "b.csv", 0.05)
    beside = asked(capsys, "--lifetimes", first, "--against", second)["failures_beside_the_other_cohort"]
    assert beside["ratio"] == pytest.approx(4, rel=0.1) and beside["p"] < 0.001  # type: ignore[index]
    assert run([*RUN, "--lifetimes", first, "--against", first]) == 0
    assert "no difference can be found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [
        (["--lifetimes", "FILE", "--rate", "1"], "--lifetimes says how often parts fail"),
        (["--rate", "1", "--against", "FILE"], "--against: expected --lifetimes too"),
        (["--lifetimes", "/no/such"], "--lifetimes: /no/such: No such file"),
        (["--lifetimes", "/dev/null"], "line 1: expected columns such as device,begin,end,event"),
        (["--lifetimes", "EMPTY"], "0 failures in 1 unit-years give no rate"),
        (["--lifetimes", "FILE", "--against", "BYTES"], "found bytes that are not text"),
        (["--lifetimes", "STAYS", "--against", "FILE"], "has stays, not lifetimes"),
        (["--lifetimes", "FILE", "--against", "STAYS"], "has no lifetimes"),
        (["--rate", "1", "--gpus-per-node", "4"], "--gpus-per-node: expected --from-controller too"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    arguments: list[str], expected_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cohort(tmp_path / "FILE", 0.2)
    (tmp_path / "EMPTY").write_text("device,years,died\na,1,no\n")
    (tmp_path / "BYTES").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "STAYS").write_text("device,begin,end,event\na,2025-01-01,2026-01-01,Xid 79\n")
    words = [str(tmp_path / word) if word.isupper() else word for word in arguments]
    assert run([*RUN, *words]) == 64
    printed = capsys.readouterr()
    assert expected_text in printed.err and printed.out == "" and printed.err.count("\n") == 1


def test_copies_in_memory_are_asked_for_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "checkpoint", "--gpus", "1024", "--rate", "llama3", "--write", "60s", "--memory-write", "2s"]
    assert run([*command, "--copies", "2", "--domain", "rack=8@0.2", "--domain", "feed=64@0.05", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["seconds_between_losses"] == pytest.approx(365 * 86_400 / (16 * 0.2 + 2 * 0.05), rel=0.01)
