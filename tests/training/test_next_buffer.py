"""A buffer that is offered in shared memory is lent once, to one, and only what is free."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.next_buffer import BOARD_BYTES, NextBuffer, offered, take
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from tests.waiting import until

SIZE = 1000


class Side:
    """A rank and its keeper, without the socket between them."""

    def __init__(self) -> None:
        self.store = ShardStore(100 * SIZE)
        self.board = Pages.new("board", BOARD_BYTES)
        self.next = NextBuffer(self.store)
        self.next.begin(0, self.board)
        self.store.on_room = self.next.offer
        self.known: set[int] = set()
        self.step = 0
        self.asked = 0

    def save(self, size: int = SIZE) -> None:
        self.step += 1
        number = offered(self.board)
        if number is not None:
            take(self.board)
            pages = self.next.taken(number)
            assert pages is not None and pages.size >= size
        else:
            self.asked += 1
            self.next.take_back()
            pages = self.store.reserve(0, size)
            self.known.add(pages.number)
        self.store.add(Copy(0, self.step, "run", 1, size, "", pages))
        self.next.sealed(size, frozenset(self.known))


def test_after_two_saves_a_save_asks_for_nothing_and_two_buffers_are_enough():
    side = Side()
    for _ in range(10):
        side.save()
        side.store.commit(side.step)
    assert side.asked == 2
    assert len({copy.pages.number for copy in side.store.held()} | side.known) == 2


def test_nothing_is_offered_while_the_step_before_is_on_its_way():
    side = Side()
    side.save()
    side.store.commit(1)
    side.save()
    assert offered(side.board) is None  # the committed copy and the one on its way stay
    assert [copy.step for copy in side.store.held()] == [1, 2]


def test_a_question_takes_the_offer_back():
    side = Side()
    for _ in range(2):
        side.save()
        side.store.commit(side.step)
    number = offered(side.board)
    assert number is not None
    side.next.take_back()
    assert offered(side.board) is None and side.next.taken(number) is None
    assert side.store.reserve(0, SIZE).number == number


def test_a_buffer_that_the_rank_does_not_know_is_not_offered():
    side = Side()
    side.save()
    side.known.clear()
    side.save()
    side.store.commit(2)
    assert offered(side.board) is None


def test_a_rank_that_left_gives_its_offer_back():
    side = Side()
    for _ in range(2):
        side.save()
        side.store.commit(side.step)
    side.next.end()
    side.store.commit(side.step)
    assert offered(side.board) is None
    assert side.store.used_bytes() == sum(side.store.reserve(0, SIZE).size for _ in range(1)) * 2


@given(st.lists(st.sampled_from(["save", "commit", "ask", "fetch"]), max_size=30))
def test_no_buffer_is_ever_in_two_hands(orders):
    side = Side()
    for order in orders:
        held = {copy.pages.number for copy in side.store.held()}
        if (number := offered(side.board)) is not None:
            assert number not in held
        if order == "save" and (number is not None or side.step <= side.store.committed + 1):
            side.save()
        elif order == "commit":
            side.store.commit(side.step)
        elif order == "ask":
            side.next.take_back()
        elif order == "fetch":
            side.next.take_back()
            side.next.offer()
        numbers = [copy.pages.number for copy in side.store.held()]
        assert len(numbers) == len(set(numbers))
        assert len(side.store._buffers(0)) == len({pages.number for pages in side.store._buffers(0)}) <= 3


def test_what_becomes_free_is_for_the_question_that_waits_for_it():
    side = Side()
    for _ in range(3):
        side.save()  # nothing is committed: all three are in use
    side.next.take_back()
    with ThreadPoolExecutor(1) as waiting:
        reserved = waiting.submit(side.store.reserve, 0, SIZE, 60.0)
        until(lambda: side.store._changed._waiters, "a question that waits")
        side.store.commit(3)
        assert reserved.result(60).size >= SIZE
    assert offered(side.board) is None
