"""Lints files mutated at random from the fixtures, and says which of them lint does not take as it should.

Usage: python benchmarks/lint_mutations.py [--count 5000] [--seed 0] [--first 0] [--jobs 1] [--keep DIR] [--summary FILE]

Mutations: cut off anywhere, line ends of CR alone, tabs, blanks at line ends, encodings and byte order marks, NUL and
other bytes, deep nesting, lines and words moved, left out and put in, notebooks of all that. Each file has to end
normally: no failure of lint itself (E003), no process that ends, every finding in a line that there is. What changes
no meaning, as line ends do, must change no finding. Mended, a file that was Python is Python still, and a second
mending finds nothing more to do. File N depends on the seed and N alone. Exit status 1 if there is a fault.
"""

# ruff: noqa: E501  rows of words
from __future__ import annotations

import argparse
import ast
import codecs
import collections
import glob
import json
import os
import platform
import random
import re
import resource
import sys
import tempfile
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance")]

from npu_conformance.lint import workers  # noqa: E402
from npu_conformance.lint.finding import DEFECT  # noqa: E402
from npu_conformance.lint.registry import LintSettings, rules  # noqa: E402
from npu_conformance.lint.running import LintTask, run  # noqa: E402

ALL = tuple(rule.code for rule in rules())
MENDED = 8  # every so manieth file is mended as well
SECONDS = 20.0  # for one file, on a machine that does much else

WORDS = ["import", "npu_bridge", "npu_bridge.npu_init", "NPURunConfig(", "npu_ops.dropout(", "tf.Session(", "custom_optimizers.add()", "None", "*", "**", "[", "]", "(", ")", "{", "}", ":", "=", "==", ".", ",", ";", "@", "lambda", "yield", "async", "def", "class", "if", "else:", "for", "in", "while", "try:", "except:", "with", "as", "global", "x", "self", "\\", "'", '"', "'''", "", '"""', "f'{", "}'", "b'\\xff'", "#", "%s", "0x", "1e999", "9_9", "...", "->", ":=", "~", "!", "?", "$", "`", "\t", "\x0c", "\x00", "\x1a", "é", "\u3000", "\u2028", "\u202e", "ﬁ", "𝐱", 'parameter_map["precision_mode"].s', "parameter_map['mix_compile_mode']", ".b", ".batch(4)", "iterations_per_loop=", "hvd.size()", "tf.nn.dropout(x,rate=0.1)", "#", "npu:ignore", "#npu:ignore[W1]", "#", "npu:ignore-file", "#", "coding:utf-7", "%matplotlib"]

CODECS = ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "gbk", "big5", "shift_jis", "iso2022_jp", "cp037", "cp1252", "koi8_r", "hz", "utf_16_be"]
COOKIES = ["rot13", "hex", "zlib_codec", "uu", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "palmos", "utf-8-sig", "UTF8", "utf_7", "latin1", "ascii", "cp65001", "klingon", "none", "utf-16", "unknown-8bit", "iso-8859-1-unix"]

#: Deep in some way: text around a hole, and what goes into the innermost; repeated.
NESTS = [("(", ")", "1"), ("[", "]", "1"), ("{", "}", "1"), ("{1:", "}", "1"), ("-", "", "1"), ("not ", "", "x"), ("~", "", "x"), ("1+", "", "1"), ("", "+1", "1"), ("", ".a", "x"), ("", "()", "f"), ("", "[0]", "x"), ("f(", ")", "x"), ("lambda:", "", "1"), ("1 if x else ", "", "2"), ("a and ", "", "b"), ("[x for x in ", "]", "y"), ("f'{", "}'", "x"), ("x<", "", "y"), ("tf.compat.as_bytes(", ")", "'a'"), ("1**", "", "1"), ("await ", "", "x"), ("*", "", "x"), ("f(a=", ")", "1"), ("str(", ")", "1"), ("'a' ", "", "'b'"), ("x=", "", "1"), ("x:=(", ")", "1")]


# -- files -----------------------------------------------------------------------------------------------------------
def sources():
    """The files that are mutated: those of the fixtures, and the examples of the rules."""
    found = []
    for path in sorted(glob.glob(os.path.join(_ROOT, "fixtures", "scripts", "**", "*.py"), recursive=True)):
        with open(path, "rb") as stream:
            found.append(stream.read().decode("utf-8"))
    return found + [example for rule in rules() for example in rule.wrong + rule.right]


def notebook(r, text):
    """A text as a notebook, cut into cells between its lines, with some lines of IPython."""
    lines, cells = text.splitlines(keepends=True), []
    while lines:
        size = r.randint(1, max(len(lines), 1))
        part, lines = lines[:size], lines[size:]
        if r.random() < 0.3:
            part.insert(r.randrange(len(part) + 1), r.choice(["%time\n", "!ls\n", "x = !ls\n", "x?\n", "%%bash\n"]))
        source = part if r.random() < 0.8 else "".join(part)
        cells.append({"cell_type": r.choice(["code"] * 4 + ["markdown"]), "source": source, "outputs": []})
    whole = {"cells": cells, "metadata": {}, "nbformat": 4}
    return json.dumps(whole, indent=r.choice([None, 1]), ensure_ascii=r.random() < 0.5).encode("utf-8", "surrogatepass")


# -- mutations of text -------------------------------------------------------------------------------------------------
def cut_off(r, text):
    return text[: r.randint(0, len(text))]


def tabs(r, text):
    return re.sub(r"^(    )+", lambda found: "\t" * (len(found.group()) // 4), text, flags=re.MULTILINE)


def some_tabs(r, text):
    return re.sub(r"    ", lambda found: r.choice(["\t", "    "]), text)


def lines_moved(r, text):
    lines = text.splitlines(keepends=True)
    for _ in range(r.randint(1, 4)):
        if lines:
            at, to = r.randrange(len(lines)), r.randrange(len(lines))
            action = r.randrange(4)
            if action == 0:
                lines[at], lines[to] = lines[to], lines[at]
            elif action == 1:
                del lines[at]
            elif action == 2:
                lines.insert(to, lines[at])
            else:
                lines[at] = r.choice(["    ", "\t", " "]) + lines[at]
    return "".join(lines)


def words_put_in(r, text):
    for _ in range(r.randint(1, 6)):
        at = r.randint(0, len(text))
        text = text[:at] + r.choice(WORDS) + r.choice(["", " ", "\n"]) + text[at:]
    return text


def words_left_out(r, text):
    words = re.split(r"(\W)", text)
    for _ in range(r.randint(1, 6)):
        words[r.randrange(len(words))] = r.choice(["", "", "x", r.choice(words)])
    return "".join(words)


def letters_changed(r, text):
    letters = list(text)
    for _ in range(min(r.randint(1, 8), len(letters))):
        letters[r.randrange(len(letters))] = chr(r.choice([r.randrange(128), r.randrange(0x3000), r.randrange(0xD800)]))
    return "".join(letters)


def nested(r, text):
    """Something deep where a value stands, or as a statement."""
    before, behind, inner = r.choice(NESTS)
    times = r.choice([20, 90, 150, 250, 1000, 3000])
    deep = before * times + inner + behind * times
    values = list(re.finditer(r"(?<== )[^\n#]+|(?<=\()[\w\"'.]+(?=\))", text))
    if values and r.random() < 0.7:
        value = r.choice(values)
        return text[: value.start()] + deep + text[value.end() :]
    return text + f"\nx = {deep}\n"


def indented(r, text):
    kind = r.choice(["if x:", "while x:", "def f():", "class C:", "with x:", "for x in y:", "try:"])
    times = r.choice([10, 50, 95, 120, 400])
    block = "".join(" " * depth + kind + "\n" for depth in range(times)) + " " * times + "npu_ops.dropot(x)\n"
    return text + block


def chained(r, text):
    """Many branches, decorators, names or statements one after the other."""
    times = r.choice([200, 1000, 3000])
    part = r.choice([
        "if x:\n  pass\n" + "elif x:\n  pass\n" * times, "@f\n" * times + "def f(): pass\n",
        "import a" + ", a" * times + "\n", "x = 1\n" * times, "x = x\n" * times, "a = " * times + "1\n",
        "x = 1; " * times + "\n", "d = d[0]\n" * times, "".join(f"v{n + 1} = v{n}\n" for n in range(times)),
        "".join(f"def f{n}(a): return f{n + 1}(a)\n" for n in range(times)),
        "op = op.parameter_map['use_off_line']\n" * (times // 20), "x, y = y, x\n" * times,
    ])  # fmt: skip
    return part + text if r.random() < 0.5 else text + part


def numbers_large(r, text):
    large = r.choice(["0x" + "f" * 5000, "9" * 5000, "1e400", "-1e400*0", "1 << 64 << 64", "'a' * 99999",
                      "10 ** 64 * 7", "[0] * 9", "'%*d' % (9, 1)", "'%999999999d' % 1", "'{:>99999999}'.format(1)", "'\\ud800'", "1j",
                      "'%s' % ('a' * 9,)", "b'\\xff'", "dict(a=1)[{}]", "...", "True", "'a' % {}", "{[]: 1}",
                      "{**x}", "str(0x" + "f" * 5000 + ")", "repr(9 << 64)"])  # fmt: skip
    return re.sub(r"(?<== )(True|False|\d+|\"[^\"\n]*\"|'[^'\n]*')|(?<=as_bytes\()[^)\n]+", lambda found: large, text,
                  count=r.randint(1, 5))  # fmt: skip


#: Mutations of a text, by how often they are drawn.
OF_TEXT = {
    cut_off: 4, tabs: 1, some_tabs: 1, lines_moved: 4, words_put_in: 5, words_left_out: 5, letters_changed: 3, nested: 5,
    indented: 1, chained: 2, numbers_large: 3,
}  # fmt: skip


# -- mutations of bytes ------------------------------------------------------------------------------------------------
def nul(r, data):
    at = r.randint(0, len(data))
    return data[:at] + b"\0" * r.randint(1, 3) + data[at:]


def bytes_changed(r, data):
    changed = bytearray(data)
    for _ in range(min(r.randint(1, 6), len(changed))):
        changed[r.randrange(len(changed))] = r.randrange(256)
    return bytes(changed)


def marked(r, data):
    marks = [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, b"\xef\xbb"]
    return r.choice(marks) + data


def recoded(r, data):
    name = r.choice(CODECS)
    text = data.decode("utf-8", "replace")
    return ((f"# coding: {name}\n" if r.random() < 0.6 else "") + text).encode(name, "replace")


def cookie(r, data):
    return f"#!x\n#{r.choice(['', ' -*-', 'vim: file'])}coding{r.choice(':=')} {r.choice(COOKIES)}\n".encode() + data


def cut_in_a_letter(r, data):
    return data + "é名"[r.randrange(2)].encode("utf-8")[:-1]


OF_BYTES = [nul, bytes_changed, marked, recoded, cookie, cut_in_a_letter]


# -- what changes no finding -------------------------------------------------------------------------------------------
SAME = {
    "as it is": lambda text: text.encode("utf-8"),
    "CR and LF": lambda text: text.replace("\n", "\r\n").encode("utf-8"),
    "CR alone": lambda text: text.replace("\n", "\r").encode("utf-8"),
    "blanks at line ends": lambda text: re.sub(r"(?<=[\w)\"':])\n", " \t\n", text).encode("utf-8"),
    "a byte order mark": lambda text: codecs.BOM_UTF8 + text.encode("utf-8"),
    "a cookie in a comment": lambda text: (text + "# coding: gbk\n" * 3).encode("utf-8"),
}


def made(files, seed, number):
    """File ``number``: its kind, its bytes, and the text whose findings it must have, if it must."""
    r = random.Random(f"{seed}/{number}")
    text = r.choice(files)
    if r.random() < 0.12:
        name = r.choice(sorted(SAME))
        return name, SAME[name](text), text
    if r.random() < 0.08:
        text += "\n" + r.choice(files)
    names = []
    for mutate in r.choices(list(OF_TEXT), list(OF_TEXT.values()), k=r.choice([0, 1, 1, 1, 2, 3])):
        text = mutate(r, text)
        names.append(mutate.__name__)
    if r.random() < 0.12:
        data = notebook(r, text)
        names.append("notebook")
    else:
        ends = r.choice(["\n"] * 6 + ["\r\n", "\r"])
        data = text.replace("\n", ends).encode("utf-8", "surrogatepass")
    if not names or r.random() < 0.25:
        mutate = r.choice(OF_BYTES)
        data = mutate(r, data)
        names.append(mutate.__name__)
    return " ".join(names), data, None


# -- judging -----------------------------------------------------------------------------------------------------------
def fault_of(answer, data, same):
    """What is wrong with an answer; empty where nothing is."""
    last = len(re.findall(rb"\r\n|\r|\n", data)) + 2
    for one in answer.findings:
        if one.code == DEFECT:
            return one.message
        if one.line < 1 or one.column < 1 or not one.message or (not one.cell and one.line > last):
            return f"a finding in no line: {one}"
    shown = [(one.line, one.column, one.code, one.message) for one in answer.findings]
    if same is not None and shown != same:
        return f"other findings than without the mutation: {shown} and not {same}"
    return ""


def is_python(data):
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def fault_of_mending(answer, again, path):
    for one in (*answer.findings, *again.findings):
        if one.code == DEFECT:
            return f"mending: {one.message}"
    if answer.after is not None and path.endswith(".py") and not is_python(answer.after):
        return "mending: it is Python no more"
    return "mending: a second time changes it again" if again.after is not None else ""


def lint(folder, seed, first, count, jobs):
    """Makes and lints files; yields the number, kind, fault and path of each, as they are done."""
    files = sources()
    found = run_all(folder, [("same", text.encode("utf-8")) for text in files], LintTask(ALL, LintSettings()), jobs, "same")
    expected = {
        text: [(one.line, one.column, one.code, one.message) for one in answer.findings]
        for text, (_, _, answer) in zip(files, found)
    }
    inputs = [made(files, seed, number) for number in range(first, first + count)]
    plain = run_all(folder, [one[:2] for one in inputs], LintTask(ALL, LintSettings()), jobs, "plain")
    faults = {
        number: fault_of(answer, data, None if same is None else expected[same])
        for number, (_, data, same), (_, _, answer) in zip(range(first, first + count), inputs, plain)
    }
    some = [number for number in faults if number % MENDED == 0 and not faults[number]]
    chosen = [inputs[number - first][:2] for number in some]
    task = LintTask(ALL, LintSettings(), True, unsafe=True)
    mended = list(run_all(folder, chosen, task, jobs, "mended"))
    changed = [(kind, answer.after or data) for (kind, data), (_, _, answer) in zip(chosen, mended)]
    again = run_all(folder, changed, task, jobs, "again")
    for number, (_, path, one), (_, _, other) in zip(some, mended, again):
        faults[number] = fault_of_mending(one, other, path)
    for number, (kind, _, _) in zip(faults, inputs):
        yield number, kind, faults[number]


def run_all(folder, inputs, task, jobs, name):
    """(kind, path, answer) of inputs, each written into a file."""
    place = os.path.join(folder, name)
    os.mkdir(place)
    paths = []
    for number, (kind, data) in enumerate(inputs):
        paths.append(os.path.join(place, f"{number:05}{'.ipynb' if 'notebook' in kind else '.py'}"))
        with open(paths[-1], "wb") as stream:
            stream.write(data)
    return [(kind, path, answer) for (kind, _), path, answer in zip(inputs, paths, run(paths, task, jobs))]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="a folder for files with a fault")
    parser.add_argument("--summary", help="where to write the summary as well")
    given = parser.parse_args(arguments)
    workers.LONGEST = SECONDS
    began, counts, bad = time.monotonic(), collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="npu-lint-") as folder:
        for number, kind, fault in lint(folder, given.seed, given.first, given.count, given.jobs):
            counts[kind if kind in SAME else "mutated"] += 1
            if fault:
                bad += 1
                print(f"{given.seed}/{number} {kind}: {fault}", flush=True)
                if given.keep:
                    data = made(sources(), given.seed, number)[1]
                    with open(os.path.join(given.keep, f"{given.seed}-{number}.py"), "wb") as stream:
                        stream.write(data)
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    lines = [
        f"{given.count} files from {given.first} of seed {given.seed}",
        f"Python {platform.python_version()}, {time.monotonic() - began:.0f} s, {used:.0f} s of CPU",
        *[f"{name}: {number}" for name, number in sorted(counts.items())],
        f"faults: {bad}",
    ]
    print("\n".join(lines))
    if given.summary:
        with open(given.summary, "w", encoding="ascii") as stream:
            stream.write("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
