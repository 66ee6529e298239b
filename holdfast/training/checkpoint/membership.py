"""A rank's registration at its keeper. It follows a keeper that moved, and never delays a save for long."""

import time

from holdfast.training.checkpoint.keeper.wire import Message, WireError
from holdfast.training.checkpoint.keeper_client import ANSWER_SECONDS, START_SECONDS, Held, Keeper

SAVE_SECONDS = 5.0  # for a keeper to start or answer, while the training waits
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 30.0, 600.0  # between two attempts to find one


class Membership:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._joined = False
        self._pause = 0.0
        self._due = 0.0
        self._why = ""
        self._known_at = ""  # address where the keepers of other nodes look for ours

    def attach(self, start_seconds: float = START_SECONDS, answer_seconds: float = ANSWER_SECONDS) -> list[Held]:
        """Finds the keeper or starts one. Each failure delays the next attempt, because each attempt costs a wait."""
        self._joined = False
        try:
            held = self._keeper.attach(start_seconds, answer_seconds)
        except OSError as error:
            self._why = str(error)
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS) or FIRST_PAUSE_SECONDS
            self._due = time.monotonic() + self._pause
            raise
        self._pause = 0.0
        return held

    def meet(self) -> None:
        """Distributes the addresses of all ranks again."""
        self._known_at = ""

    def join(self, members: Message, step: int, answer_seconds: float) -> None:
        """Tells the keeper the members of this run, and again if it was restarted."""
        if not self._keeper.connected:
            if self._pause and time.monotonic() < self._due:
                raise WireError(f"the keeper of this node is gone: {self._why}")
            self.attach(SAVE_SECONDS, SAVE_SECONDS)
        if not self._joined:
            own = self._keeper.about  # after a restart at another address
            addresses = {**members["addresses"], own["node"]: own["address"]}
            known = self._known_at or members["addresses"].get(own["node"], "")
            moved = bool(known) and known != own["address"]
            self._keeper.join({**members, "addresses": addresses, "step": step, "moved": moved}, answer_seconds)
            self._joined, self._known_at = True, own["address"]
