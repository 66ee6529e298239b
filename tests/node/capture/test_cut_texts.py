"""A text that breaks off is unknown, with the reason; what it shows before that is still judged."""

import pytest

from . import outputs as o
from .test_silent_passes import judged, wrong

SMI = o.smi_text(parity="0").replace("SEC-DED    : 1", "SEC-DED    : 0")
FIRST = SMI[SMI.index("    Product Name") : SMI.index("GPU 00000000:43")]
WHOLE = SMI[: SMI.index("GPU 00000000:43")] + "GPU 00000000:43:00.0\n" + FIRST
CA = """CA '{0}'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 12
\t\tSM lid: 1
\t\tLink layer: InfiniBand
"""
TWO = CA.format("mlx5_0") + CA.format("mlx5_1")
CUT = {
    "fewer GPUs than the head counts": (SMI.replace(": 2\n", ": 8\n", 1), "8 attached GPUs and the file has 2"),
    "a section is missing": (WHOLE[: WHOLE.rindex("    ECC Mode")], "lacks eccmode"),
    "inside a line of the only GPU": (WHOLE[: WHOLE.index("HW Slowdown") + 8], "in the line 'HW Slowd'"),
    "ibstat, before the port": (TWO[: TWO.rindex("\tPort 1")], "mlx5_1 has 1 ports and the text shows 0"),
    "ibstat, inside the head": (TWO[: TWO.rindex("\tNumber")], "mlx5_1 has 1 ports and the text shows 0"),
    "ibstat, before the state": (TWO[: TWO.rindex("\t\tState")], "lacks base lid"),
    "ibstat, before the link layer": (TWO[: TWO.rindex("\t\tLink layer")], "lacks link layer"),
}


@pytest.mark.parametrize("case", CUT)
def test_a_text_that_breaks_off_is_unknown(case):
    text, why = CUT[case]
    found = judged(text)
    assert found.health.value == "unknown"
    assert why in " ".join(wrong(found))


@pytest.mark.parametrize("text", [WHOLE, TWO, "$ nvidia-smi -q -i 1\n" + SMI.replace(": 2\n", ": 8\n", 1)])
def test_a_whole_text_passes(text):
    assert judged(text).health.value == "pass"
