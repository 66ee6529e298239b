"""Items of the inbox: nodes that need an operator, open incidents, jobs that died."""

from holdfast.fleet.inbox.incident_items import of_incidents
from holdfast.fleet.inbox.item import Item, Sources, rank
from holdfast.fleet.inbox.job_items import of_jobs
from holdfast.fleet.inbox.node_items import of_nodes


def items(sources: Sources) -> list[Item]:
    """All items, worst first."""
    return sorted([*of_nodes(sources), *of_incidents(sources), *of_jobs(sources)], key=rank)
