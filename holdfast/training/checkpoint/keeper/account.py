"""Keeper reports to its agent: which copies are in memory and which of its own are in storage."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.formats.job.progress import KeeperProgress
from holdfast.model.wire.keeper import LONGEST_TROUBLE, MOST_HELD, MOST_STEPS, MOST_TROUBLES, HeldStep, Holdings
from holdfast.model.wire.progress import LARGEST_STEP
from holdfast.training.checkpoint.keeper.ranks import Parts
from holdfast.training.checkpoint.storage.target import INDEX, rank_name, target_of

WATCH_SECONDS = 1.0
SCAN_SECONDS = 300.0  # others may have removed files
STEP = "step-"
STORED_STEPS = 2  # as many as are kept


class KeeperStorageAccount:
    """Knows which steps are in storage. It reads storage on its own thread, because storage may hang, and only after
    a write."""

    def __init__(self, about: Mapping[str, Any], place: str, parts: Parts) -> None:
        self._about, self._place, self._parts = about, place, parts
        self._stored: dict[int, tuple[int, ...]] = {}
        self._unknown = "it was not looked at yet"
        threading.Thread(target=self._watch, name="storage", daemon=True).start()

    def reported(self) -> KeeperProgress:
        job = str(self._about["job"]).replace("/", "_")
        return KeeperProgress(job, self._parts.flushing.unsaved(), self._holdings())

    def _holdings(self) -> Holdings:
        store, members = self._parts.store, self._parts.replication.members
        return Holdings(
            node=_words(str(self._about["node"]))[:255],
            run=members.attempt if members else "",
            ranks=_some(self._parts.flushing.own_ranks),
            world=members.world if members else 0,
            replicas=1 + len(members.partners) if members else 0,
            committed_step=min(max(store.committed, -1), LARGEST_STEP),
            used_bytes=store.used_bytes(),
            budget_bytes=store.budget_bytes,
            steps=self._steps(),
            troubles=self._troubles(),
            storage_unknown=self._unknown,
        )

    def _troubles(self) -> tuple[str, ...]:
        reported = sorted(self._parts.troubles.copy().items())[:MOST_TROUBLES]
        return tuple(_words(f"{about}: {words}") for about, words in reported)

    def _steps(self) -> tuple[HeldStep, ...]:
        ours, stored, on_gpus = self._parts.flushing.own_ranks, self._stored, self._parts.shelf.steps()
        own: dict[int, set[int]] = {}
        partners: dict[int, set[int]] = {}
        for copy in self._parts.store.held():
            (own if copy.rank in ours else partners).setdefault(copy.step, set()).add(copy.rank)
        tellable = {step for step in (*own, *partners, *stored) if 0 <= step <= LARGEST_STEP}
        newest = sorted(tellable, reverse=True)[:MOST_STEPS]
        return tuple(
            HeldStep(
                step=step,
                own=_some(own.get(step, ())),
                partners=_some(partners.get(step, ())),
                stored=_some(stored.get(step, ())),
                gpu=_some(rank for rank, lies in on_gpus.items() if lies == step),
            )
            for step in newest
        )

    def _watch(self) -> None:
        scanned: tuple[frozenset[int], int] | None = None
        due = 0.0
        while True:
            flushing = self._parts.flushing
            now = (flushing.own_ranks, flushing.writes)
            if now != scanned or time.monotonic() >= due:
                scanned, due = now, time.monotonic() + SCAN_SECONDS
                self._scan(flushing.own_ranks)
            time.sleep(WATCH_SECONDS)

    def _scan(self, ranks: frozenset[int]) -> None:
        try:
            target = target_of(self._place)
            names = target.names(f"{STEP}*")
            steps = sorted(int(name[len(STEP) :]) for name in names if name[len(STEP) :].isdecimal())
            found = {
                step: tuple(rank for rank in ranks if target.exists(f"{rank_name(step, rank)}/{INDEX}"))
                for step in reversed(steps)
            }
        except (OSError, ImportError) as error:
            self._unknown = _words(str(error))
            return
        whole = [step for step, there in found.items() if there]
        self._stored, self._unknown = {step: found[step] for step in whole[:STORED_STEPS]}, ""


def _some(ranks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(ranks)[:MOST_HELD])


def _words(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:LONGEST_TROUBLE]
