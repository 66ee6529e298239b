"""Is a room so warm that everything in it gets hotter?"""

from collections.abc import Iterator

from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

AMBIENT = "ambient_celsius"
AIR = "node_inlet_celsius"
SUPPLY = "cdu_supply_celsius"
OF_NO_DAY = 5.0  # degrees; weather and doors change a room by less every day, so a smaller rise needs victims
WARMS_FROM = 8.0  # degrees; a smaller rise may leave the nodes unaffected, and is then not a cause
EVERY_DAY = 0.0


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    for room, sign in scene.rose(AMBIENT).items():
        one = CauseCandidate(
            cause=room,
            kind="cooling.ambient",
            signs=[sign],
            reach=scene.reach(room, COOLS),
            explains=COOLING | {"ambient"},
        )
        one.supported_by(2.5, weigh.moved_text(sign, " °C"))
        under = scene.down(room, COOLS)
        air, supply = scene.seen(AIR) & under, scene.seen(SUPPLY) & under
        followers = {**scene.rose(AIR), **scene.rose(SUPPLY)}
        weigh.companions(one, "air into its nodes", followers, air or supply)
        nodes = scene.nodes_under(room, COOLS)
        warmer = sign.now - sign.before
        hot = weigh.warms(scene, one, nodes, expected=warmer >= WARMS_FROM)
        felt = warmer >= OF_NO_DAY and (hot >= weigh.FEW or warmer >= WARMS_FROM)
        if not felt and not weigh.suffers(scene, nodes):
            one.most = EVERY_DAY
        yield one


SEAM = Seam(
    name="cooling.ambient",
    asks="Is a room so warm that everything in it gets hotter?",
    kinds=("cooling.ambient",),
    reads=(AMBIENT, AIR, SUPPLY, "gpu_temperature_celsius", "job_step_seconds"),
    domains=("cooling", "accelerators", "runtime"),
    explain=explain,
)
