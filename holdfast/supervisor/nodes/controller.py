"""The controller as `holdfast run` uses it. A controller that does not answer never ends a training."""

from collections.abc import Callable, Sequence

from holdfast.client import history
from holdfast.client.client import Client, node_path
from holdfast.diagnosis.evidence import fleet as fleet_evidence
from holdfast.model.evidence import Evidence
from holdfast.model.health import Health
from holdfast.model.lifecycle import OUT_OF_SERVICE
from holdfast.model.refusal import Refusal

_PAGE = 500
_LONGEST_REASON = 500


class ControllerFleet:
    def __init__(self, client: Client, notify: Callable[[str], None]) -> None:
        self._client, self._notify = client, notify

    def unfit(self) -> dict[str, str]:
        try:
            nodes = self._client.get("/v1/nodes")["nodes"]
        except Refusal as why:
            self._notify(f"continues without the controller: {why}")
            return {}
        return {
            node["name"]: f"{node['stage']}, {node['reason']}"
            for node in nodes
            if node["stage"] in OUT_OF_SERVICE or node["health"] == Health.FAIL
        }

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        found: list[Evidence] = []
        for node in nodes:
            try:
                page = history.of_node(self._client, node, _PAGE)
            except Refusal as why:
                self._notify(f"{node}: nothing from the controller: {why}")
                continue
            entries = [entry for entry in page["entries"] if entry["at"] >= since]
            found += fleet_evidence.of_history(node, entries[::-1])
        return found

    def report_failed_nodes(self, nodes: Sequence[str], reason: str) -> None:
        self._post("quarantine", nodes, reason)

    def request_test(self, nodes: Sequence[str], reason: str) -> None:
        self._post("retest", nodes, reason)

    def _post(self, verb: str, nodes: Sequence[str], reason: str) -> None:
        for node in nodes:
            try:
                self._client.post(node_path(node, verb), {"reason": reason[:_LONGEST_REASON]})
                self._notify(f"the controller was asked to {verb} {node}")
            except Refusal as why:
                self._notify(f"the controller did not {verb} {node}: {why}")
                if why.code == "job_role" and verb != "retest":  # a job's token: it doubts, an operator's blames
                    self._post("retest", [node], reason)
