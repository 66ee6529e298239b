"""Buffers of a keeper: all their memory is there before anybody writes into them."""

import os

import pytest

from holdfast.training.checkpoint.keeper import memory
from holdfast.training.checkpoint.keeper.memory import Pages
from tests.descriptors import open_files

SIZE = (1 << 20) + 5
NO_ADVICE = 9999  # what no kernel knows


def memory_of(pages: Pages) -> int:
    return os.fstat(pages.fd).st_blocks * 512


@pytest.mark.parametrize("advice", [memory.MADV_POPULATE_WRITE, NO_ADVICE], ids=["populated", "an older kernel"])
def test_the_memory_of_a_new_buffer_is_there(monkeypatch: pytest.MonkeyPatch, advice: int) -> None:
    monkeypatch.setattr(memory, "MADV_POPULATE_WRITE", advice)
    pages = Pages.new("one", SIZE)
    assert memory_of(pages) >= SIZE
    assert len(pages.map) == os.fstat(pages.fd).st_size == SIZE
    pages.map[SIZE - 1] = 7
    other = Pages.received(os.dup(pages.fd))
    assert other.map[SIZE - 1] == 7
    with pytest.raises(PermissionError):
        os.ftruncate(pages.fd, 1)
    other.close()
    pages.close()


def test_what_cannot_be_had_is_an_error_and_leaves_no_descriptor() -> None:
    with pytest.raises(OSError, match=r"."):
        Pages.new("too large", 1 << 60)
    assert open_files("too large") == []
    pages = Pages.new("small enough", SIZE)
    assert len(open_files("small enough")) >= 1, "a name by which it is found"
    pages.close()
