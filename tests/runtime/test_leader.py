"""The command line follows a standby to the leader, and takes the token nowhere else."""

import pytest

from holdfast.client.client import _leader
from holdfast.model.refusal import Refusal


@pytest.mark.parametrize("named", ["http://c2:9477/v1/nodes", "", "/v1/nodes", "ftp://c2/", "file:///etc/passwd"])
def test_never_from_tls_to_plain_text_or_anything_else(named: str) -> None:
    with pytest.raises(Refusal, match="cannot be reached"):
        _leader("https://c1:9477/v1/nodes", named)


def test_a_leader_is_followed() -> None:
    assert _leader("https://c1:9477/x", "https://c2:9477/x") == "https://c2:9477/x"
    assert _leader("http://c1:9477/x", "http://c2:9477/x") == "http://c2:9477/x"
