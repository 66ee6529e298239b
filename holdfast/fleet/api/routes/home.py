"""Route of the home page: current figures, losses of the day, trends."""

from dataclasses import dataclass
from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from holdfast.fleet.api.service import Asked
from holdfast.fleet.inbox.figures import Figures, FigureSample

Points = Annotated[int, QueryParameter(ge=2, le=1_000, description="At most so many samples.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    figures: Figures
    currency: str
    history: tuple[FigureSample, ...]
    """Oldest first, from the controller's memory: at most a day, and nothing from before it started."""


@get("/v1/home", opt={"right": "read"}, tags=["fleet"])
async def show_home(service: Asked, points: Points = 240) -> HomeView:
    """GPUs productive and lost now; lost GPU-hours and money, and goodput, of the last 24 hours."""
    window = service.figures
    return HomeView(figures=window.figures(), currency=service.currency, history=tuple(window.thinned(points)))


ROUTES = [show_home]
