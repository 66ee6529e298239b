"""A process's job, from its cgroup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.host import cgroup

UID = "0c3a7b1e-2f54-4d6a-9b8c-1a2b3c4d5e6f"


@pytest.mark.parametrize(
    "text",
    [
        "5:devices:/slurm/uid_1000/job_4711/step_0/task_3\n",
        "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
        "12:cpuset:/slurm_n17/uid_0/job_4711/step_batch\n",
    ],
)
def test_slurm_job_of_either_cgroup_version(text: str) -> None:
    assert cgroup.slurm_job(text) == "4711"


def test_a_folder_called_job_outside_slurm_is_no_slurm_job() -> None:
    assert cgroup.slurm_job("0::/user.slice/job_4711\n") == ""


@pytest.mark.parametrize(
    "group",
    ["slurmstepd.scope/job_4711/step_0", "slurm/uid_0/job_4711", f"kubepods/pod{UID}", f"kubepods-pod{UID}.slice"],
)
def test_a_group_that_a_user_made_is_no_job_of_another(group: str) -> None:
    """systemd lets a user make groups of any name below user@1000.service."""
    text = f"0::/user.slice/user-1000.slice/user@1000.service/{group}\n"
    assert (cgroup.slurm_job(text), cgroup.pod(text)) == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        f"0::/kubepods/burstable/pod{UID}/{'a' * 64}\n",
        f"0::/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope\n",
    ],
)
def test_pod_and_container_of_either_driver(text: str) -> None:
    assert cgroup.pod(text) == UID
    assert cgroup.container(text) == "a" * 12


@given(st.text(max_size=300))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    cgroup.slurm_job(text), cgroup.pod(text), cgroup.container(text)
