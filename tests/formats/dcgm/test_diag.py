"""Every form in which `dcgmi diag` speaks ends in the same results; nothing makes the parser raise."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.dcgm.diag import parse
from holdfast.formats.dcgm.diag_result import FAIL, PASS, SKIP, WARN, DiagResult


def old(*tests: dict[str, Any], **more: Any) -> str:
    return json.dumps({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Any", "tests": tests}], **more}})


def new(*tests: dict[str, Any], **more: Any) -> str:
    return json.dumps(
        {
            "DCGM Diagnostic": {"test_categories": [{"category": "Any", "tests": tests}], **more},
            "metadata": {"version": "4.2.3", "Driver Version Detected": "570.148.08"},
        }
    )


def entity(gpu: int, status: str, *warnings: str, severity: int = 2) -> dict[str, Any]:
    found: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status}
    if warnings:
        found["warnings"] = [
            {"warning": text, "error_id": 1, "error_category": 1, "error_severity": severity} for text in warnings
        ]
    return found


def test_the_old_layout_names_gpus_as_one_string() -> None:
    found = parse(old({"name": "PCIe", "results": [{"gpu_ids": "0,1", "status": "Pass"}]}, version="3.1.3"))
    assert found.results == (DiagResult("PCIe", PASS, 0), DiagResult("PCIe", PASS, 1))
    assert (found.dcgm_version, found.error, found.complete) == ("3.1.3", "", True)


@pytest.mark.parametrize("warnings", ["ECC double bit error", ["ECC double bit error"]])
def test_the_old_layout_warns_in_a_string_or_a_list(warnings: Any) -> None:
    found = parse(old({"name": "Memory", "results": [{"gpu_id": "3", "status": "FAIL", "warnings": warnings}]}))
    assert found.results == (DiagResult("Memory", FAIL, 3, "ECC double bit error"),)


def test_a_failure_over_a_list_of_gpus_is_laid_at_the_one_the_text_names() -> None:
    result = {"gpu_ids": "0,1,2,3", "status": "Fail", "warnings": "GPU 2 has pending row remappings"}
    found = parse(old({"name": "Page Retirement/Row Remap", "results": [result]}))
    assert [(r.gpu, r.status) for r in found.results] == [(2, FAIL)]


def test_a_result_without_gpu_is_about_the_node() -> None:
    assert parse(old({"name": "Inforom", "results": [{"status": "Warn"}]})).results == (DiagResult("Inforom", WARN),)


def test_the_new_layout_names_entities_and_severities() -> None:
    test = {"name": "memory", "results": [entity(0, "Pass"), entity(1, "Fail", "bad page", severity=6)]}
    found = parse(new({**test, "test_summary": {"status": "Fail"}}))
    assert found.results == (DiagResult("memory", PASS, 0), DiagResult("memory", FAIL, 1, "bad page", 6))
    assert (found.dcgm_version, found.driver_version) == ("4.2.3", "570.148.08")


def test_a_summary_that_fails_above_passing_gpus_is_not_lost() -> None:
    summary = {"status": "Fail", "warnings": [{"warning": "a child process died", "error_severity": 4}]}
    found = parse(new({"name": "pcie", "results": [entity(0, "Pass")], "test_summary": summary}))
    assert DiagResult("pcie", FAIL, None, "a child process died", 4) in found.results


def test_an_entity_that_is_no_gpu_is_about_the_node() -> None:
    cpu = {"entity_group": "CPU", "entity_group_id": 7, "entity_id": 0, "status": "Fail"}
    assert parse(new({"name": "cpu_eud", "results": [cpu]})).results == (DiagResult("cpu_eud", FAIL),)


@pytest.mark.parametrize("word", ["Skip", "Skipped", "Not Run", "", "something new"])
def test_what_is_no_known_status_was_not_established(word: str) -> None:
    assert parse(new({"name": "nccl", "results": [entity(0, word)]})).results[0].status == SKIP


def test_an_error_status_is_a_failure() -> None:
    assert parse(new({"name": "pcie", "results": [entity(0, "Error")]})).results[0].status == FAIL


def test_lines_before_and_after_the_json_do_not_matter() -> None:
    text = "Executing in pod x {1}\nSuccessfully ran diagnostic for group.\n"
    text += old({"name": "a", "results": [{"status": "Pass"}]})
    assert parse(text + "\nbye {").results == (DiagResult("a", PASS),)


def test_a_text_that_breaks_off_keeps_what_was_whole_and_says_so() -> None:
    whole = new({"name": "a", "results": [entity(0, "Fail", "boom")]}, {"name": "b", "results": [entity(0, "Pass")]})
    cut = parse(whole[: whole.index('"b"')])
    assert [(r.test, r.status) for r in cut.results] == [("a", FAIL)]
    assert not cut.complete


def test_a_runtime_error_is_reported() -> None:
    assert parse(new(runtime_error="unable to run on MIG")).error == "unable to run on MIG"


def test_no_diagnostic_at_all_is_an_error_in_its_own_words() -> None:
    message = "Error: unable to establish a connection to the specified host: localhost\nError: Unable to connect\n"
    assert parse(message).error == "Error: unable to establish a connection to the specified host: localhost"
    assert parse("").error == "dcgmi printed nothing"
    assert parse('{"DCGM Diagnostic": {}}').error == "the diagnostic holds no result"


TABLE = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.9                                          |
| Driver Version Detected   | 570.195.03                                     |
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - GPUs: 1, 2                              |
|                           | Fail - GPU: 0                                  |
| Warning                   | GPU 0 ran hot for 13.3 seconds while it was te |
|                           | sted                                           |
| Info                      | GPU 1 is fine                                  |
| Diagnostic                | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""


def test_the_table_of_dcgm_3() -> None:
    found = parse(TABLE)
    assert found.complete and found.dcgm_version == "3.3.9"
    assert [(r.test, r.status, r.gpu) for r in found.results] == [
        ("Denylist", PASS, None),
        ("GPU Memory", PASS, 1),
        ("GPU Memory", PASS, 2),
        ("GPU Memory", FAIL, 0),
        ("Diagnostic", SKIP, None),
    ]


def wrapped(left: str, text: str) -> str:
    """As dcgmi wraps: 45 characters a line, cut wherever they end."""
    chunks = [text[at : at + 45] for at in range(0, len(text), 45)]
    return "\n".join(f"| {left if not i else '':25} | {chunk:45}  |" for i, chunk in enumerate(chunks)) + "\n"


@given(st.text(st.sampled_from("ab c"), min_size=1, max_size=200).filter(lambda text: text.strip()))
def test_a_wrapped_text_is_put_together_again(text: str) -> None:
    message = "GPU 3 says " + " ".join(text.split())
    table = wrapped("PCIe", "Fail - GPU: 3") + wrapped("Warning", message)
    assert parse(table).results == (DiagResult("PCIe", FAIL, 3, message),)


def test_the_table_of_dcgm_4_whose_test_fails_while_its_gpus_pass() -> None:
    table = (
        wrapped("software", "Pass")
        + wrapped("", "GPU0: Pass")
        + wrapped("pcie", "Fail")
        + wrapped("Warning", "There was an internal error during the test: 'A child process (152) exited'")
        + wrapped("", "GPU0: Pass")
        + wrapped("", "GPU1: Fail")
        + wrapped("Warning: GPU1", "too slow")
    )
    found = [(r.test, r.status, r.gpu) for r in parse(table).results]
    assert found == [("software", PASS, 0), ("pcie", FAIL, None), ("pcie", PASS, 0), ("pcie", FAIL, 1)]
    assert [r.text for r in parse(table).results][-1] == "too slow"


def test_fail_on_all_stays_a_failure_of_the_node_beside_the_gpus_that_complain() -> None:
    table = wrapped("Diagnostic", "Fail - All") + wrapped("Warning", "GPU 0 lost its context")
    assert [(r.status, r.gpu) for r in parse(table).results] == [(FAIL, None), (FAIL, 0)]


def test_a_table_that_breaks_off_after_an_error_still_fails() -> None:
    text = "|-----  Deployment  --------+------|\n" + wrapped("Error", "GPU 3 has row remappings pending, and more")
    found = parse(text)
    assert found.results == (DiagResult("Deployment", FAIL, 3, "GPU 3 has row remappings pending, and more"),)
    assert not found.complete


@given(st.text() | st.text(st.sampled_from('{}[]"|+-: \n,GPU0PassFail'), max_size=300))
def test_arbitrary_text_never_raises(text: str) -> None:
    parse(text)


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "tests",
                    "test_categories",
                    "results",
                    "name",
                    "status",
                    "warnings",
                    "gpu_ids",
                    "entity_id",
                    "entity_group",
                ]
                + ["test_summary", "warning", "error_severity", "runtime_error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(documents, st.integers(0, 200))
def test_any_document_cut_anywhere_never_raises(document: Any, cut: int) -> None:
    text = json.dumps({"DCGM Diagnostic": document})
    parse(text)
    parse(text[:cut])
