"""A window that has only begun: nothing is said, and nothing fails."""

import numpy as np
import pytest

from holdfast import seams
from holdfast.catalog.seam_signals import signals
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology

SUBJECTS = ("node/n1/gpu/0", "node/n1/gpu/1", "node/n1", "cdu/c1", "rack/r1", "job/j", "job/j/rank/0")
TOPOLOGY = Topology(
    (Edge("cools", "cdu/c1", "rack/r1"), Edge("cools", "rack/r1", "node/n1"), Edge("runs_on", "node/n1", "job/j"))
)


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_a_few_columns_say_nothing(columns: int) -> None:
    values = np.full((len(SUBJECTS), columns), 0.5, np.float32)
    panel = Panel(
        np.arange(columns, dtype=np.float64) * 10, {name: SignalTable(SUBJECTS, values.copy()) for name in signals()}
    )
    assert seams.explain(panel, TOPOLOGY) == ()
