"""Recognises Markdown texts that explain errors: guides, glossaries, notes. The errors in them did not happen."""

import re
from collections.abc import Sequence

from holdfast.formats.job import text_lines

_FENCE = re.compile(r"\s{0,8}(?:`{3}|~{3})")
_MARK = r"[#>*_\-\d.()\s]{0,12}"  # marks of a heading, an item or bold text
_REMEDY = re.compile(
    _MARK + r"(?:(?:Quick |Possible |The )?(?:Solutions?|Fix(?:es)?|Workarounds?|Resolution|Remedy|Recovery|Mitigation"
    r"|Prevention|Remediation)"
    r"|How to (?:fix|resolve|solve)(?: (?:it|this))?|What to do"
    r"|\u4fee\u590d|\u9810\u9632|\u9884\u9632|\u89e3\u51b3(?:\u65b9[\u6848\u6cd5]|\u529e\u6cd5)?"
    r"|\u89e3\u6c7a(?:\u65b9\u6cd5|\u7b56)?"
    r"|\u5bfe\u51e6\u6cd5?|\ud574\uacb0(?: ?\ubc29\ubc95)?|L\u00f6sung|Soluci\u00f3n)[*_ ]{0,3}(?:[:\uff1a]|[*_]{2}|$)",
    re.IGNORECASE,
)
_REMEDY_HEADING = re.compile(
    r"#{1,6} .{0,60}\b(?:(?:Re)?solutions?|Remed(?:y|ies|iation)|Recovery|Fix(?:es|ing)?|Workarounds?)\b",
    re.IGNORECASE,
)
_TROUBLE_HEADING = re.compile(
    r"#{1,6} .{0,60}\b(?:Symptoms?|Root causes?|(?:Issue|Problem|Error|Incident|Bug|Pitfall|Scenario) #?\d)",
    re.IGNORECASE,
)
_FRONT = re.compile(r"---\s*\n(?:[\w-]{1,40}:.*\n|[ -].*\n){1,40}---\s*\n")  # front matter of a page
_TITLED = re.compile(r"(?m)^(?:title|layout|description|slug|permalink): ")
_MARKS = re.compile(r"[*_`>]+")
_TROUBLE = re.compile(
    _MARK + r"(?:(?:Issue|Problem|Error|Pitfall) \d{1,2}\b"
    r"|(?:Symptoms?|Problem|Issue|(?:Root |Likely )?Causes?|Error(?: message)?|Why)[*_ ]{0,3}(?:[:\uff1a]|[*_]{2}|$)"
    r"|(?:\u73fe\u8c61|\u73b0\u8c61|\u75c7\u72b6|\u6839\u56e0|\u539f\u56e0|\u95ee\u9898|\u554f\u984c)[*_ ]{0,3}"
    r"(?:[:\uff1a]|$))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"#{1,6} \S|\*\*\d{0,2}[.)]? ?[^*\n]{3,100}\*\*:?\s*$")
_RULE = re.compile(r"\s{0,4}\|?(?: ?:?-{2,}:? ?\|){1,20}(?: ?:?-{2,}:? ?)?\s*$")  # the line below a table's head
_ROW = re.compile(r"\s{0,4}\|.*\|\s*$")
_ITEM = re.compile(r"\s{0,6}(?:[-*+]|\d{1,2}[.)]) \S|\s{2,8}\S|\*\*[^*\n]{2,60}\*\* \S|-{3,}\s*$|\.\. [a-z]")
_SENTENCE = re.compile(
    r"(?![\w.]{1,80}(?:Error|Exception)\b)[A-Z][a-z][^\n]{20,400}[a-z)*`][.:!?]\s*$|[a-z][^\n]{8,400}[a-z)*`]\.\s*$"
)
_SECTION = re.compile(r"={2,5} [A-Z]\S*[^=]*$")  # a heading of AsciiDoc
_DELIMITER = re.compile(r"(?:-{4}|\.{4}|={4})\s*$")  # of AsciiDoc blocks
_UNDERLINE = re.compile(r"([=~^\"'*+#-])\1{3,}\s*$")  # below a heading of reStructuredText
_DIRECTIVE = re.compile(
    r"^\s*\.\. (?:code-block|code|literalinclude|parsed-literal|note|warning)::|(?<![:\w])\w[^\n]{0,200}::\s*$"
)
_FEW = 2
_LEAST_SAID = 3  # least lines outside of code blocks
_MOSTLY = 0.9


def explains(text: str) -> bool:
    """Whether the text explains errors: it lists problems with remedies, or is a table of terms."""
    said = _outside(_lines(text))
    remedies = any(_REMEDY.match(line) or _REMEDY_HEADING.match(line) for line in said)
    troubles = any(_TROUBLE.match(line) or _TROUBLE_HEADING.match(line) for line in said)
    return (remedies and troubles) or _is_table_of_words(said)


def is_page(text: str) -> bool:
    """Whether the text outside of code blocks consists of headings, items, rows and sentences."""
    lines = _lines(text)
    blocks = sum(bool(_FENCE.match(line)) for line in lines) // 2
    said = [line for line in _outside(lines) if line.strip()]
    headings = sum(bool(_HEADING.match(line)) for line in said)
    if front := _FRONT.match(text):
        return bool(_TITLED.search(front[0]))
    least = 1 if any(line.startswith(".. code") for line in lines) else _FEW  # a log never contains this directive
    if blocks + headings <= least or not headings or len(said) < _LEAST_SAID:
        return False
    has_sentence = any(_is_sentence(line) for line in said) or min(blocks, headings) >= _FEW
    return has_sentence and sum(_is_of_a_page(line) for line in said) >= _MOSTLY * len(said)


def quotes(text: str) -> bool:
    """Whether the text quotes program output in code blocks or under headings."""
    lines = _lines(text)
    blocks = sum(bool(_FENCE.match(line)) for line in lines) // 2
    headings = sum(bool(_HEADING.match(line)) for line in _outside(lines))
    return blocks > 0 and blocks + headings > _FEW


def _lines(text: str) -> list[str]:
    """The lines of a text, with headings and blocks of reStructuredText and AsciiDoc in the form of Markdown."""
    raw = text.split("\n")
    ascii_doc = any(_SECTION.match(line) for line in raw)
    lines: list[str] = []
    block = -1  # indentation of the line that introduces a reStructuredText block; -1: no block
    for place, line in enumerate(raw):
        depth = len(line) - len(line.lstrip())
        if block >= 0 and line.strip() and depth <= block:
            lines.append("```")
            block = -1
        below = raw[place + 1] if place + 1 < len(raw) else ""
        above = lines[-1] if lines else ""
        if block >= 0:
            lines.append(line)
        elif _SECTION.match(line) or (not above.strip() and _is_underlined(line, below)):
            lines.append(f"# {line.strip(' =')}")
        elif above.startswith("# ") and _UNDERLINE.match(line):
            continue
        elif _DIRECTIVE.search(line):
            lines += [line.removesuffix(":"), "```"]
            block = depth
        else:
            lines.append("```" if ascii_doc and _DELIMITER.match(line) else line)
    return [*lines, "```"] if block >= 0 else lines


def _is_underlined(line: str, below: str) -> bool:
    text = line.rstrip()
    return (
        bool(text)
        and not text.startswith(" ")
        and bool(_UNDERLINE.match(below))
        and len(below.rstrip()) + 1 >= len(text)
    )


def _outside(lines: Sequence[str]) -> list[str]:
    """The lines outside of code blocks; all lines if a block is cut open."""
    marks = [place for place, line in enumerate(lines) if _FENCE.match(line)]
    if len(marks) % 2:
        return [line for line in lines if not _FENCE.match(line)]
    inside = {place for begin, end in zip(marks[::2], marks[1::2], strict=True) for place in range(begin, end + 1)}
    return [line for place, line in enumerate(lines) if place not in inside]


def _is_table_of_words(said: Sequence[str]) -> bool:
    """Whether most of the text is one table below a heading or column names, without whole log lines in its cells."""
    rows = [line for line in said if _ROW.match(line)]
    filled = [line for line in said if line.strip()]
    return len(rows) > _FEW and any(_RULE.match(line) for line in rows) and len(rows) + _FEW >= len(filled)


def _is_of_a_page(line: str) -> bool:
    return bool(_HEADING.match(line) or _ROW.match(line) or _ITEM.match(line)) or _is_sentence(line)


def _is_sentence(line: str) -> bool:
    return bool(_SENTENCE.match(line)) or text_lines.is_prose(_MARKS.sub("", line))
