"""Topology gaps: names that no source reports, and nodes without an edge. They are reported and stop nothing."""

import logging
from collections.abc import Collection

from holdfast.formats.topology.file import strangers, unplaced
from holdfast.model.panel import Panel
from holdfast.model.subject import Subject
from holdfast.model.topology import Topology, whole_of

log = logging.getLogger("holdfast.fleet.controller")
SETTLES_SECONDS = 300.0  # agents and devices need their time to be heard of after a start
MOST_LOGGED = 5


class TopologyGaps:
    def __init__(self, began: float) -> None:
        self._began = began
        self._seen: frozenset[Subject] = frozenset()
        self.told: tuple[str, ...] = ()

    def look(self, written: Topology, whole: Topology, panel: Panel, nodes: Collection[Subject], now: float) -> None:
        """`written` is the file's, `whole` what nodes and jobs told beside it."""
        if now - self._began < SETTLES_SECONDS:
            return
        seen = frozenset(whole_of(one) or one for table in panel.tables.values() for one in table.subjects)
        seen |= frozenset(nodes)
        if seen == self._seen:
            return
        self._seen = seen
        told = (*strangers(written, seen), *unplaced(whole, seen))
        if told and told != self.told:
            more = f"; and {len(told) - MOST_LOGGED} more" if len(told) > MOST_LOGGED else ""
            log.warning("the topology has holes: %s%s", "; ".join(told[:MOST_LOGGED]), more)
        self.told = told
