"""A page that explains errors is told from a log and from what somebody reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job.log import JobLog
from holdfast.formats.job.markdown import explains, is_page, quotes

ERROR = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
BLOCK = f"```\n{ERROR}\n```"
SENTENCE = "The error below is what the program says when the memory of the device is used up."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"**Symptom:** it ends\n{BLOCK}\n**Fix:** a smaller batch\n", True),
        (f"\u73b0\u8c61\uff1a\n- {ERROR}\n\u4fee\u590d\uff1a\n- a smaller batch\n", True),
        (f"### Pitfall 4: memory\n{BLOCK}\n- **Workaround**: a smaller batch\n", True),
        (f"### 4.1 Symptoms\n{BLOCK}\n### 4.2 Remediation of it\n", True),
        (f"**Symptom:** it ends\n{BLOCK}\n**Recovery:**\n1. wait\n", True),
        (f"**Symptom:** it ends\n{BLOCK}\n", False),  # nobody says what to do
        (f"{BLOCK}\n**Fix:** a smaller batch\n", False),
        (f"```\nCause: x\n{ERROR}\nSolution: y\n```\n# log\n", False),  # a program prints its own advice
        ("# Words\n| word | meaning |\n|---|---|\n| `CUDA out of memory` | full |\n| `exit 137` | killed |\n", True),
        (f"| CPU | 12 |\n{ERROR}\nTraceback\nmore\nmore\n", False),
    ],
)  # fmt: skip
def test_troubles_and_remedies(text: str, found: bool) -> None:
    assert explains(text) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"# Memory\n{SENTENCE}\n{BLOCK}\n## Disks\n{BLOCK}\n- look at the size of the disk\n", True),
        (f"# Memory\n{SENTENCE}\n{BLOCK}\n", False),  # one heading and one block are a report too
        (f"# Memory\n## Disks\n{BLOCK}\n{BLOCK}\n- one\n- two\n", True),
        (f"# Memory\n{BLOCK}\n{BLOCK}\n- one\n- two\n", False),  # no sentence, and one heading
        (f"# Memory\n---\n**Command.** {SENTENCE}\n{BLOCK}\n## Disks\n{BLOCK}\n", True),
        (f"Memory\n======\n{SENTENCE}\n\n.. code-block:: text\n\n   {ERROR}\n\n- one\n", True),
        (f"Memory\n======\n{SENTENCE}\n\n   {ERROR}\n\n- one\n", False),  # without the directive
        (f"== Memory\n=== It ends\n\n----\n{ERROR}\n----\n\n{SENTENCE}\n", True),
        (f"-- Memory\n--- It ends\n\n----\n{ERROR}\n----\n\n{SENTENCE}\n", False),  # no headings of AsciiDoc
        (f"---\ntitle: Memory\narea: errors\n---\n{ERROR}\n", True),  # a page says first what it is
        (f"---\nrank: 3\n---\n{ERROR}\n", False),
        (f"# Memory\n{SENTENCE}\n{BLOCK}\n## Disks\n{BLOCK}\n{ERROR}\nand more\n", False),  # a log among it
        (f"{SENTENCE}\n{BLOCK}\n{BLOCK}\n{BLOCK}\n- one\n- two\n", False),  # without a heading
    ],
)
def test_a_page_is_headings_items_and_sentences_around_its_code(text: str, found: bool) -> None:
    assert is_page(text) is found


def found_in(text: str) -> list[str]:
    log = JobLog()
    log.feed(text.encode())
    return [one.cause for one in log.finish() if one.cause]


def test_what_somebody_reports_in_the_same_form_is_still_read() -> None:
    guide = f"**Symptom:** it ends\n{BLOCK}\n**Fix:** a smaller batch\n"
    assert found_in(guide) == []
    assert found_in(guide + "\nI get this error on every node.\n") == ["job.cuda_oom"]


def test_the_abbreviation_of_input_and_output_is_no_person() -> None:
    table = f"# Words\n| word | meaning |\n|---|---|\n| `{ERROR}` | full |\n| I/O | input and output |\n"
    assert found_in(table) == []


PIECES = [
    "# Memory",
    "**Symptom:** it ends",
    "**Fix:** wait",
    "```",
    SENTENCE,
    ERROR,
    "- one",
    "| a | b |",
    "|---|---|",
    "",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.text(max_size=40))
def test_any_text_has_an_answer_and_empty_lines_do_not_change_it(lines: list[str], other: str) -> None:
    text = "\n".join([*lines, other])
    wide = text.replace("\n", "\n\n")
    assert (explains(text), is_page(text)) == (explains(wide), is_page(wide))


@given(
    st.lists(st.sampled_from(["step 1 loss 2.1", "INFO saved the model", ERROR, "2026-01-02 10:11:12 WARNING slow"]))
)
def test_a_log_is_no_page(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert not explains(text)
    assert not is_page(text)
    assert not quotes(text)
