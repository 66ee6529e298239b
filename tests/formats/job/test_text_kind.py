"""Whether a file is a log, a document or a program, and that only a log says what happened."""

import pytest

from holdfast.formats.job.log import JobLog
from holdfast.formats.job.text_kind import SAMPLE_BYTES, TextKind, is_report, kind_of
from holdfast.formats.job.text_lines import is_prose

PAGE = """# When a rank is lost

A job waits for its slowest rank, so that one lost GPU ends all of it. The log of such a job may hold a line
such as the following, and the watchdog speaks ten minutes later:

```
RuntimeError: NCCL error: unhandled system error
```

- Restart the job on other nodes, and keep the broken one out of the next run.
- Look at the kernel log of the node that was named, and at `nvidia-smi -q` there.
"""
REPORT = PAGE.replace("The log of such a job may hold", "My job was lost so, and the log holds")
SCRIPT = """#!/usr/bin/env python
import torch
from torch.distributed import DistNetworkError


def main() -> None:
    try:
        torch.distributed.init_process_group("nccl")
    except DistNetworkError as error:
        raise RuntimeError("RuntimeError: Address already in use") from error


if __name__ == "__main__":
    main()
"""
QUOTED_LINES = "  'Epoch 1/9 - loss: nan',\n" * 8
LOG = """2026-01-02 10:11:12 INFO the run begins with the weights of the last step
2026-01-02 10:11:13 ERROR RuntimeError: Address already in use
"""
SENTENCES = "The rate is too high for the model, and the loss is not a number from that step on.\n"
BANNER = "-" * 74
LAUNCHER = f"""{BANNER}
An error was found by the launcher while it was about to start the daemon on a node of the job.
* the daemon is not in the path that is set for shells which are not interactive on the node
* a firewall between the nodes does not let the daemon call back to the one that started it
{BANNER}
"""
EXAMPLE = """## Reading

The reader refuses what it does not know, and names the place, so that the input can be mended:

>>> reader.read(b"1")
Traceback (most recent call last):
ValueError: expected a name

It is used by `the agent` and by the page, and neither of them looks at the text a second time.
The names are those of the file, and a name that is not there is an error of its own kind.
"""


@pytest.mark.parametrize(
    ("why", "text", "kind"),
    [
        ("headings, lists and sentences", PAGE, TextKind.DOCUMENT),
        ("a report is one too", REPORT, TextKind.DOCUMENT),
        ("source", SCRIPT, TextKind.PROGRAM),
        (
            "quoted lines in a list of source",
            f"const LOG = [\n{QUOTED_LINES}]\n\nfunction show() {{\n",
            TextKind.PROGRAM,
        ),
        ("the same without what defines them", QUOTED_LINES, TextKind.LOG),
        ("a table of source", "class Style:\n    styles = {\n" + '        Error:    "#F00",\n' * 8, TextKind.PROGRAM),
        ("few lines of source, as a traceback shows them", SCRIPT[:60], TextKind.LOG),
        ("lines with a time", LOG, TextKind.LOG),
        ("a page with a line of a log in it", PAGE + LOG[:60], TextKind.DOCUMENT),
        ("a page with half a log in it", PAGE + LOG * 3, TextKind.LOG),
        ("what a launcher has to say", LAUNCHER, TextKind.LOG),
        ("the same without its frame", LAUNCHER.replace(BANNER, "") * 2, TextKind.DOCUMENT),
        ("an example of an interpreter", EXAMPLE, TextKind.DOCUMENT),
        ("a traceback", EXAMPLE.replace(">>> reader", "reader"), TextKind.LOG),
        ("the description of a package", "Metadata-Version: 2.1\nName: x\n" + LOG, TextKind.DOCUMENT),
        ("nothing", "", TextKind.LOG),
        ("one sentence", "the job was ended by the system, and the rest of it is not in the log\n", TextKind.LOG),
    ],
)
def test_what_a_file_is(why: str, text: str, kind: TextKind) -> None:
    assert kind_of(text.encode()) == kind, why


@pytest.mark.parametrize(
    ("why", "text", "found"),
    [
        ("a document in which nobody reports", PAGE, 0),
        ("somebody to whom it happened", REPORT, 1),
        ("a program", SCRIPT, 0),
        ("a log", LOG, 1),
    ],
)
def test_only_what_happened_is_evidence(why: str, text: str, found: int) -> None:
    log = JobLog()
    log.feed(text.encode())
    assert len([one for one in log.finish() if one.role != "note"]) == found, why


def test_a_log_that_begins_with_its_own_script_is_a_log() -> None:
    log = JobLog()
    log.feed(SCRIPT.encode() * 100 + LOG.encode() * 200)
    assert {one.cause for one in log.finish()} == {"launcher.setup"}


def test_a_long_document_ends_as_one() -> None:
    log = JobLog()
    log.feed(PAGE.encode() * 100)
    assert log.finish() == []


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("It is the program, unless memory was in use before it started.", True),
        ("RuntimeError: it is the program that was not found in the path", False),
        ("slurmstepd: error: the step was not started on the node that it is for", False),
        ("the job is on it", False),
        ("loss 2.1 lr 1e-4 grad_norm 0.3 tokens 812 time 0.4 mem 12", False),
    ],
)
def test_sentences(text: str, prose: bool) -> None:
    assert is_prose(text) is prose


def test_a_whole_book_is_no_report() -> None:
    assert is_report(b"I lost a node")
    assert not is_report(b"I lost a node".ljust(SAMPLE_BYTES))
    assert is_report(b"## Error logs\nit ends\n")
    assert not is_report(b"## Errors and diagnostics\nit ends\n")
    assert not is_report(b"**Q: My job hangs**\n")
    assert not is_report(b"Metadata-Version: 2.1\nI wrote this")


MANUAL = """.TH JOBCTL 1
.SH NAME
jobctl \\- starts a job
.SH DESCRIPTION
A job ends when one of its ranks ends. It is an error if the file is not there.
.IP \\-f
No space left on device: the log of the job is not written when the disk of the node is full.
"""
METRICS = """# HELP failures_total Jobs that failed
# TYPE failures_total counter
failures_total{reason="CUDA out of memory"} 0
failures_total{reason="OOMKilled"} 2.5e+1
"""
OUTCOMES = """task/12: passed
task/13: failed: AssertionError
task/14: failed: NameError: name 'List' is not defined
task/15: passed
score: 0.5
"""
CODES = """Code  Name                   Description
2     errorMemoryAllocation  out of memory
214   errorECCUncorrectable  uncorrectable ECC error encountered
"""
COLUMNS = "S-1\tKein Platz mehr\nT-1\tNo space left on device\nH-1\t-0.4\tNo space left\n| mean 31.2\n"
EXAMPLES = (
    """**To list the jobs of a team**
-----------------------------
The next command shows those of the team that you are in, and of no other. ::
"""
    + "jobctl('list', team)\njobs = run(x)\n" * 3
)
PATCH = """@@ -3,2 +3,3 @@ def step():
     run()
-    raise
+RuntimeError: Address already in use
"""
HISTORY = (
    "commit " + "0a" * 20 + "\nAuthor: A <a@b>\n\n    An answer that was late: RuntimeError: Address already in use\n"
)
HEADER = "#ifndef ERRORS_H\n#define ERRORS_H\n" + "".join(f"#define E{n} {n} /* out of memory */\n" for n in range(9))
DESCRIPTION = """Average.

    Shapes that differ are refused.

    The first axis
    A mean value
    Of all of them
    Or of some"""
DOCSTRINGS = "".join(f"def f{n}(a):\n    '''{DESCRIPTION}\n    '''\n" for n in range(5))
PARAGRAPH = """When a node reports Xid 79 the GPU has fallen off the bus. Drain the node, and
power it off for a minute before you start it again. If the error comes back, it is the board.
Jobs that ran there end with an error of the driver, and the others with one of the network.
"""


@pytest.mark.parametrize(
    ("why", "text", "kind"),
    [
        ("a page of the manual", MANUAL, TextKind.DOCUMENT),
        ("a page of little prose and many examples", EXAMPLES, TextKind.DOCUMENT),
        ("metrics", METRICS, TextKind.PROGRAM),
        ("metrics in a log", METRICS + LOG, TextKind.LOG),
        ("how each of many things went", OUTCOMES, TextKind.PROGRAM),
        ("one failed, and no other is named", OUTCOMES[15:45], TextKind.LOG),
        ("all of them failed", OUTCOMES.replace("passed", "failed"), TextKind.LOG),
        ("a table that explains", CODES, TextKind.PROGRAM),
        ("its rows alone", CODES.partition("\n")[2], TextKind.LOG),
        ("rows of columns", COLUMNS, TextKind.PROGRAM),
        ("the same with the stamps of a log", COLUMNS.replace("S-1", "2026-01-02 10:11:12 S-1"), TextKind.LOG),
        ("a patch", PATCH, TextKind.PROGRAM),
        ("a patch below a log", LOG + PATCH, TextKind.LOG),
        ("a patch whose added lines lost their mark", PATCH.replace("+R", "R"), TextKind.LOG),
        ("a history", HISTORY, TextKind.PROGRAM),
        ("a header", HEADER, TextKind.PROGRAM),
        ("little code between its descriptions", DOCSTRINGS, TextKind.PROGRAM),
        ("source in a log that goes on", DOCSTRINGS + LOG * 9, TextKind.LOG),
        ("a paragraph of a manual", PARAGRAPH, TextKind.DOCUMENT),
        ("the same above an error", PARAGRAPH + LOG, TextKind.LOG),
    ],
)
def test_manuals_data_and_source(why: str, text: str, kind: TextKind) -> None:
    assert kind_of(text.encode()) == kind, why


def test_a_program_with_a_long_end_of_data_is_a_program() -> None:
    log = JobLog()
    log.feed((SCRIPT + DOCSTRINGS * 80 + "RuntimeError: Address already in use\n").encode() + b"x y\n" * 9000)
    assert log.finish() == []


def test_the_examples_of_a_long_page_are_no_steps_of_a_run() -> None:
    part = f"## Rates\n\n{SENTENCES}\n```\nstep 1 loss: 2.1\nstep 2 loss: nan\nstep 3 loss: nan\n```\n\n"
    found = []
    for text in (part * 100, "step 1 loss: 2.1\nstep 2 loss: nan\nstep 3 loss: nan\n" * 400):
        log = JobLog()
        log.feed(text.encode())
        found.append(any(one.cause == "job.nan" for one in log.finish()))
    assert found == [False, True]


def test_a_question_in_a_heading_is_no_report() -> None:
    asked = "Why does my job end?\n--------------------\n"
    assert not is_report(asked.encode())
    assert is_report(asked.replace("?", "").encode())
