"""Makes a program that differs small: what is left out must leave the difference."""

from __future__ import annotations

import copy
import time

from benchmarks.differential.language import blocks_of


def shrink(program, differs, seconds=60.0, tries=400):
    """The smallest program found that differs as the given one does.

    Args:
        differs: whether a program does; called for each attempt.
        seconds, tries: bounds.
    """
    end = time.monotonic() + seconds
    again = True
    while again:
        again = False
        at = 0
        while tries > 0 and time.monotonic() < end:
            candidate = next(_candidates(program, at), None)
            if candidate is None:
                break
            tries -= 1
            if differs(candidate):
                program, again = candidate, True
            else:
                at += 1
        if tries <= 0 or time.monotonic() >= end:
            break
    return program


def _candidates(program, skip):
    """Smaller programs in a fixed order, the boldest first, without the first few."""
    for number, make in enumerate(_edits(program)):
        if number >= skip:
            smaller = copy.deepcopy(program)
            make(smaller)
            yield smaller


def lists(program):
    """The lists of statements of a program, the outermost first."""
    waiting = [program["block"]]
    for statements in waiting:
        for one in statements:
            waiting.extend(block["block"] for block in blocks_of(one))
    return waiting


def _edits(program):
    """Functions that make a program smaller in place."""
    if len(program["runs"]) > 1:
        for number in range(len(program["runs"])):
            yield lambda some, number=number: some["runs"].pop(number)
    for number, run in enumerate(program["runs"]):
        for fetch in range(len(run.get("fetch", ())) if len(run.get("fetch", ())) > 1 else 0):
            yield lambda some, number=number, fetch=fetch: some["runs"][number]["fetch"].pop(fetch)
    every = lists(program)
    for place, statements in enumerate(every):
        half = (len(statements) + 1) // 2
        for begin in (0, half) if half > 1 else ():
            yield lambda some, place=place, begin=begin, half=half: _cut(lists(some)[place], begin, half)
    for place, statements in enumerate(every):
        for number in range(len(statements) - 1, -1, -1):
            yield lambda some, place=place, number=number: lists(some)[place].pop(number)
    for place, statements in enumerate(every):
        for number, one in enumerate(statements):
            for block in range(len(blocks_of(one))):
                yield lambda some, place=place, number=number, block=block: _hoist(lists(some)[place], number, block)
            for edit in _simpler(one):
                yield lambda some, place=place, number=number, edit=edit: edit(lists(some)[place][number])
    for number in range(len(program["declare"]) - 1, -1, -1):
        yield lambda some, number=number: some["declare"].pop(number)
    for number, run in enumerate(program["runs"]):
        if run["how"] not in ("run", "save"):
            yield lambda some, number=number: some["runs"][number].update(how="run")


def _cut(statements, begin, count):
    del statements[begin : begin + count]


def _hoist(statements, number, block):
    """What is inside a statement stands in its place."""
    one = statements[number]
    inner = one["blocks"][block]
    given = one["in"][-len(inner["params"]) :] if one["do"] != "while" else [["i", 0], *one["in"]]
    if one["do"] == "cond":
        given = []
    before = [{"do": "alias", "ids": [param], "in": [end]} for param, end in zip(inner["params"], given)]
    after = [{"do": "alias", "ids": [made], "in": [end]} for made, end in zip(one["ids"], inner["out"])]
    statements[number : number + 1] = [*before, *inner["block"], *after]


def _simpler(one):
    """A compound statement with less to it."""
    if one["do"] == "while":
        if len(one["blocks"]) > 1:
            yield lambda some: some["blocks"].pop()
        if "array" in one:
            yield lambda some: (some.pop("array"), some.pop("seen"), some["ids"].pop())
        if len(one["in"]) > len(one["types"]):
            yield lambda some: some["in"].pop()
        for turns in (1, 2, one["turns"] // 2):
            if turns < one["turns"]:
                yield lambda some, turns=turns: some.update(turns=turns)
        if one["parallel"] != 10:
            yield lambda some: some.update(parallel=10)
        for place in range(len(one["types"]) if len(one["types"]) > 1 and "array" not in one else 0):
            yield lambda some, place=place: _drop(some, place, of_params=True)
    elif one["do"] in ("cond", "function"):
        for place in range(len(one["types"]) if len(one["types"]) > 1 else 0):
            yield lambda some, place=place: _drop(some, place, of_params=False)
        if one.get("times", 1) > 1:
            yield lambda some: some.update(times=1)
    elif one["do"] == "map" and len(one["in"]) > 1:
        yield lambda some: some["in"].pop()
    elif one["do"] == "python" and one["stateful"]:
        yield lambda some: some.update(stateful=False)


def _drop(one, place, of_params):
    """One of the values that a statement carries or gives."""
    one["types"].pop(place)
    one["ids"].pop(place)
    for number, block in enumerate(one["blocks"]):
        if number == 0 or not of_params:
            block["out"].pop(place)
        if of_params:
            block["params"].pop(place + 1)
    if of_params:
        one["in"].pop(place)
