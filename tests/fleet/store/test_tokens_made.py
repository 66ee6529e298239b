"""Tokens that are given out."""

from holdfast.fleet.store.credentials import new_token


def test_no_token_looks_like_an_option_of_a_command() -> None:
    made = {new_token() for _ in range(500)}
    assert len(made) == 500
    assert all(token.startswith("hf_") for token in made)
