"""The reference page of every lint rule, made from the rules: ``python -m npu_conformance.lint.page`` writes it."""

from __future__ import annotations

import sys
from typing import Iterator, Sequence

from npu_conformance.lint.finding import SEVERITIES
from npu_conformance.lint.registry import Rule, anchor, rules
from npu_conformance.lint.rendering import markdown
from npu_reference.derived_page import write_page

__all__ = ["main", "page"]

_HEAD = """# Lint

`npu-conformance lint PATH...` finds mistakes in scripts for the adapter by reading them. Nothing is run,
TensorFlow is not needed. This page is made from the rules by `python -m npu_conformance.lint.page`; change a
rule, not the page.

```sh
npu-conformance lint train.py models/          # file:line:column CODE message; exit 0 nothing, 1 findings, 2 bad use
npu-conformance lint --diff train.py           # what --fix would change
npu-conformance lint --fix train.py            # mends what is marked [*], leaves everything else as it is written
npu-conformance lint --fix --unsafe-fixes train.py     # also what is marked [!]; --diff --unsafe-fixes shows it first
npu-conformance lint --select E --ignore E107 --statistics .
npu-conformance lint --format sarif . > lint.sarif     # also json, github
npu-conformance lint --explain W101
```

A folder is read with all its `.py` and `.ipynb` files, hidden folders, environments and builds left out. A file
that is named itself is read whatever its name; one that is no Python, and is not called so by its name or its
first line, is skipped, which stderr says.

## Fixes

A fix is **safe** if it cannot change what the program means: the program does the same as before, or the line
failed in every run. `--fix` makes safe fixes only. Every other fix is **unsafe**: it guesses what was meant, lets
an option take effect that was ignored, or moves work to the device. `--unsafe-fixes`, together with `--fix` or
`--diff`, makes or shows these, too. Read the diff first.

The last line of the output counts findings that have only an unsafe fix; in JSON that is `unsafe_fixes`, and
`fix` of each finding is `safe` or `unsafe`. Each rule below says which its fixes are, and why. A fix after which
Python could not read the file is not made.

## Notebooks

The code cells of a notebook (nbformat 4) are read in their order, as one script. Magics, shell commands (`!ls`)
and cells of another language (`%%bash`) are left out. A place is `train.ipynb:cell 3:2:5`: line 2 of the third
cell, counted with cells of text. GitHub's annotations and SARIF name the line of the file, and the cell in the
message. `--fix` writes the changed cells back and no other byte; where that cannot be done the file stays as it
is, with E003. A notebook of more than 64 MiB is not read. `simulate` executes notebooks the same way.

## What goes wrong

A file that cannot be read is a finding (E001, E002). Where lint itself fails on a file, that is E003, in every
format. It names the file, the rule and the error; the findings of other rules and files stand. On Linux this also
holds for a file that ends the process that reads it, or keeps it for more than a minute. A file that cannot be
written back is named on stderr, and the others are mended.

| exit status | meaning |
|---|---|
| 0 | nothing found, or hints only |
| 1 | something found; with `--diff`, something would change |
| 2 | the command line is wrong, or a mended file cannot be written |
| 70 | lint failed on a file (E003): a defect to be reported; everything else is reported as always |

## Codes

The first letter of a code is its severity:

| letter | severity |
|---|---|
| **E** | an error: the documents or the adapter refuse it |
| **W** | a warning: it is accepted and has no effect, or another effect than it seems |
| **S** | a suggestion for a script that does not use the adapter yet: what to add, at which line |

Where a suggestion may be wrong it is a **hint**, which does not count. Codes stay what they are.

Options are read from the [option table](options.md), names from the table of [npu_bridge](npu_bridge.md). Only
what is certain is reported. Values that cannot be seen without running the script are left out, with every rule
that depends on them. Lint reads literals, names bound to them, loops over them, functions called with them, and
`**` of a dict that is written out. `--edition` chooses the documents.

`# npu: ignore` at the end of a line silences it, `# npu: ignore[W104]` one code (or all that begin so) in it, and
`# npu: ignore-file[S]` a whole file. As a hook of pre-commit:

```yaml
- repo: <this repository>
  rev: <a tag>
  hooks: [{id: npu-conformance-lint, args: [--select, "E,W"]}]
```
"""

_TAIL = """## Where people work

`npu-conformance lsp` is a language server over standard input and output. It needs `npu-conformance[lsp]` and Python
3.9. It tells findings when a script is opened, changed or saved. A safe fix is a preferred quick fix, and
`source.fixAll.npuConformance` makes all of them. The title of an unsafe fix says that it is one. Hovering shows the
rule, and for an option the sentence of the documents. Notebooks are not served. In Neovim 0.11:

```lua
vim.lsp.config("npu", {cmd = {"npu-conformance", "lsp"}, filetypes = {"python"}})
vim.lsp.enable("npu")
```

`lint -` reads standard input, which `--stdin-filename` names. `--format sarif` has the help of every rule, and fixes of
scripts as replacements. `--docs-url URL`, of `lint` and `lsp`, adds links to this page at its address.

Problem matchers read the text output. For GitHub Actions: `conformance/npu_conformance/lint/matchers/github.json`,
which this repository's action registers; elsewhere a step prints `::add-matcher::` and its path. For VS Code:
`conformance/npu_conformance/lint/matchers/vscode-tasks.json`, a `.vscode/tasks.json`. Places in notebooks are not
matched, since their lines are those of a cell; `--format github` has them.

In a notebook `%load_ext npu_conformance` gives `%npu`, which takes the command lines of `partition`, `precision`,
`profile`, `options` and `explain`. The page of the first three is shown below the cell, in a frame that cannot reach
the notebook. A graph may be a variable, and lines below `%%npu` are options:

```text
%%npu partition graph
precision_mode=allow_mix_precision
```
"""


def page() -> str:
    """The whole page as Markdown."""
    every = rules()
    return "\n".join([_HEAD, *_table(every), *(line for rule in every for line in _rule(rule)), _TAIL])


def _table(every: Sequence[Rule]) -> Iterator[str]:
    yield "## All rules\n"
    yield "| code | name | severity | fixes | finds |"
    yield "|---|---|---|---|---|"
    for rule in every:
        link = f"[{rule.code}](#{anchor(rule)})"
        yield f"| {link} | {rule.name} | {SEVERITIES[rule.code[0]]} | {rule.fix} | {rule.summary.rstrip('.')} |"
    yield ""


def _rule(rule: Rule) -> Iterator[str]:
    yield f"## {rule.code} {rule.name}\n"
    yield markdown(rule)


def main(arguments: Sequence[str]) -> int:
    """Write the page; returns the exit status."""
    return write_page(arguments, "npu_conformance.lint.page", "docs/lint.md", lambda _: page())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
