"""What a timed transfer costs the path of a request, against the bare clock calls that every timing needs.

python bench/serving.py
"""

from collections.abc import Callable
from time import perf_counter

from measure import publish

from holdfast.serving import Request, Transfer

CALLS = 200_000
ROUNDS = 7


def bare() -> None:
    began = perf_counter()
    _ = perf_counter() - began


def transfer() -> None:
    with Transfer("prefill", "decode", 1 << 20):
        pass


def request() -> None:
    one = Request("prefill", "decode", 0.5)
    with one.waiting():
        pass
    one.done()


def microseconds(call: Callable[[], None]) -> float:
    """The best of some rounds: what the machine's other work adds is not the call's."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (perf_counter() - began) / CALLS * 1e6)
    return best


def main() -> None:
    floor, timed, whole = microseconds(bare), microseconds(transfer), microseconds(request)
    publish(
        "serving",
        {
            "calls": CALLS,
            "clock_microseconds": round(floor, 3),
            "transfer_microseconds": round(timed, 3),
            "request_microseconds": round(whole, 3),
            "transfer_to_clock_ratio": round(timed / floor, 1),
        },
    )


if __name__ == "__main__":
    main()
