"""What follows from the form of a message that no row knows."""

import pytest

from holdfast.catalog import error_forms


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Error: Invalid value for '--num-cpus': '100m' is not a valid integer.", "Set --num-cpus to a valid integer"),
        ("x.py: error: argument --dp: invalid int value: 'two'", "Set --dp to a valid value (int value)"),
        ("ConfigError: missing option 'trainer.nnodes'", "Add trainer.nnodes"),
        ("TypeError: unexpected keyword argument 'num_items'", "Remove or rename num_items"),
        ("RuntimeError: fastserve requires torch>=2.4", 'pip install "torch>=2.4"'),
        ("Failed to connect to http://10.0.0.4:8500 after 5 s", "something listens at http://10.0.0.4:8500"),
        ("open: Permission denied: '/data/run/x'", "permission on /data/run/x"),
        ("/data/run/tok.model: does not exist", "Make /data/run/tok.model exist on every node"),
        ("ffmpeg: command not found", "Install ffmpeg"),
        ("HTTPError: 403 Client Error", "valid credentials"),
        ("driver/library version mismatch", "versions that fit each other"),
        ("not enough slots for the job", "more slots for the job than there is"),
        ("sha256 mismatch of shard 4", "download it again"),
        ("could not acquire the file lock", "stale lock file"),
        ("worker group is already registered", "End the old process"),
        ("Expected 4 inputs, got 3", "Pass 4 inputs where it now gets 3"),
        ("yaml.scanner.ScannerError: while parsing a block", "Correct the configuration file"),
        ("fp8 attention is not supported", "another setting for fp8 attention"),
        ("run.pl: 3 / 4 failed, log is in exp/stats.log", "Read exp/stats.log"),
    ],
)
def test_the_message_names_what_to_change(text: str, says: str) -> None:
    assert any(says in one for one in error_forms.advice(text)), error_forms.advice(text)


def test_a_message_without_any_form_gives_nothing() -> None:
    assert error_forms.advice("it broke") == []


def test_two_are_enough() -> None:
    text = "403 version mismatch, not enough memory, sha256 mismatch, already running"
    assert len(error_forms.advice(text)) == error_forms.MOST
