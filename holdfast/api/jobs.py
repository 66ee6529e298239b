"""Routes about training jobs: how they get on, what is slow, and where their time went."""

from litestar import get

from holdfast.api.desk import Asked
from holdfast.api.job_views import TrainingDetail, TrainingsView

READ = {"right": "read"}


@get("/v1/trainings", opt=READ, tags=["jobs"])
async def list_trainings(desk: Asked) -> TrainingsView:
    """Jobs whose ranks tell their progress, last heard first."""
    return await desk.trainings()


@get("/v1/trainings/{name:str}", opt=READ, tags=["jobs"])
async def show_training(desk: Asked, name: str) -> TrainingDetail:
    """One of them: its ledger, what a failure now would cost, its restarts and what is slow."""
    return await desk.training(name)


ROUTES = [list_trainings, show_training]
