"""The reference page of every lint rule, made from the rules: ``python -m npu_conformance.lint.page`` writes it."""

from __future__ import annotations

import sys
from typing import Iterator, Sequence

from npu_conformance.lint.finding import SEVERITIES
from npu_conformance.lint.registry import Rule, rules
from npu_reference.derived_page import write_page

__all__ = ["main", "page"]

_HEAD = """# Lint

`npu-conformance lint PATH...` finds mistakes in scripts for the adapter by reading them. Nothing is run, TensorFlow is
not needed. This page is made from the rules by `python -m npu_conformance.lint.page`; change a rule, not
the page.

```sh
npu-conformance lint train.py models/          # file:line:column CODE message; exit 0 nothing, 1 findings, 2 bad use
npu-conformance lint --diff train.py           # what --fix would change
npu-conformance lint --fix train.py            # mends what is marked [*], leaves everything else as it is written
npu-conformance lint --select E --ignore E107 --statistics .
npu-conformance lint --format sarif . > lint.sarif     # also json, github
npu-conformance lint --explain W101
```

A folder is read with all its `.py` files, hidden folders, environments and builds left out. A file that is named itself
is read whatever its name; one that is no Python, and is not called so by its name or its first line, is skipped, which
stderr says.

The first letter of a code is its severity: **E** an error, where the documents or the adapter refuse it; **W** a
warning, where something is accepted and has no effect, or another than it seems; **S** a suggestion for a script that
does not use the adapter yet: what to add, at which line, in the form of the documents. Codes stay what they are.

What options may be is read from the [option table](options.md), what names there are from the table of
[npu_bridge](npu_bridge.md). Only what is certain is told: values that cannot be seen without running the script are
left out, together with every rule that they could decide. Read are literals, names bound to them, loops over them,
functions called with them, `**` of a dict that is written out; branches are kept apart. `--edition` chooses the
documents.

`# npu: ignore` at the end of a line silences it, `# npu: ignore[W104]` one code (or all that begin so) in it, and
`# npu: ignore-file[S]` a whole file. As a hook of pre-commit:

```yaml
- repo: <this repository>
  rev: <a tag>
  hooks: [{id: npu-conformance-lint, args: [--select, "E,W"]}]
```
"""


def page() -> str:
    """The whole page as Markdown."""
    every = rules()
    return "\n".join([_HEAD, *_table(every), *(line for rule in every for line in _rule(rule))]).rstrip() + "\n"


def _table(every: Sequence[Rule]) -> Iterator[str]:
    yield "## All rules\n"
    yield "| code | name | severity | `--fix` | finds |"
    yield "|---|---|---|---|---|"
    for rule in every:
        mended = "yes" if rule.fixable else ""
        link = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
        yield f"| {link} | {rule.name} | {SEVERITIES[rule.code[0]]} | {mended} | {rule.summary.rstrip('.')} |"
    yield ""


def _rule(rule: Rule) -> Iterator[str]:
    yield f"## {rule.code} {rule.name}\n"
    yield rule.summary + "\n"
    if rule.text:
        yield rule.text + "\n"
    for title, examples in (("Found in", rule.wrong), ("Not found in", rule.right)):
        for example in examples:
            yield f"{title}:\n"
            yield f"```python\n{example}```\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page; returns the exit status."""
    return write_page(arguments, "npu_conformance.lint.page", "docs/lint.md", lambda _: page())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
