"""The hand-written text of the documentation, cut into sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, List, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

#: Pages that a program writes as a whole.
_MADE = {"docs/mutants.md", "docs/options.md"}
#: Parts of pages that a program writes, or that a test holds to a declaration word by word: (begin, end).
_PARTS = [
    (r"<!-- The table of names, written by [\w. -]+ -->", r"<!-- End of the table -->"),
    *((f"<!-- {name} -->", f"<!-- /{name} -->") for name in (
        "anchors", "codes", "faults", "laws", "parameters", "scaling",
    )),
    (r"(?m)^## All rules$", r"\Z"),
]  # fmt: skip


class Sentence(NamedTuple):
    """Where it stands, and how many words it has: code and a link's text count as they are read."""

    page: str
    text: str
    words: int
    in_table: bool


def pages() -> List[str]:
    """Hand-written pages in English, by path from the root."""
    return [page for page in every_page() if page not in _MADE and not page.endswith(".zh-CN.md")]


def every_page() -> List[str]:
    """Every page, by path from the root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def by_hand(page: str) -> str:
    """The text of a page without the parts that programs write."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for begin, end in _PARTS:
        text = re.sub(f"{begin}.*?{end}", "", text, flags=re.DOTALL)
    return text


def sentences(page: str) -> Iterator[Sentence]:
    """Every sentence of a page: of paragraphs, items of lists and cells of tables; none of headings and code blocks."""
    text = re.sub(r"(?ms)^[ ]*```.*?^[ ]*```[^\n]*$", "\n", by_hand(page))
    text = re.sub(r"(?s)<!--.*?-->", "", text)
    text = re.sub(r"`[^`]+`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in _blocks(re.sub(r"(?m)^#+ .*$", "", text)):
        in_table = block.startswith("|")
        for cell in re.split(r"(?<!\\)\|", block) if in_table else [block]:
            for one in re.split(r"(?<=[.!?])[)*\"]*\s+(?=[A-Z*(\d]|code)", cell.strip()):
                words = [word for word in one.split() if re.search(r"\w", word)]
                if words:
                    yield Sentence(page, one, len(words), in_table)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, items and rows, each in one line."""
    block: List[str] = []
    for line in [*text.splitlines(), ""]:
        begins = re.match(r"\s*([-*]|\d+\.)\s|\||>", line)
        if (begins or not line.strip()) and block:
            yield " ".join(block)
            block = []
        if line.strip():
            block.append(re.sub(r"^\s*([-*]|\d+\.)\s+|^>\s*", "", line).strip())
