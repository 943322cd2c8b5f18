"""The little language in which random programs are written: data, from which the graph is built.

A program is a dict: ``control_flow`` (1 or 2), ``serial`` (whether one chain orders everything that has an effect, so
that what a failing run leaves is known), ``declare``, ``block`` and ``runs``. A statement has ``do``, the ``ids`` that
it gives, and inputs ``in``: pairs of a type and an id. An id that nothing gave is a constant of that type, so that a
program from which statements were taken is a program, too. Compound statements have ``blocks``: dicts with ``params``,
``block`` and ``out``.
"""

from __future__ import annotations

DEPTH = 4  # of statements inside others

#: Types: a vector of three float32, one of any length, an int32, a bool, a string.
TYPES = "vwibs"

#: What computes: its inputs and what it gives.
MATH = {
    "add": ("vv", "v"),
    "sub": ("vv", "v"),
    "mul": ("vv", "v"),
    "tanh": ("v", "v"),
    "square": ("v", "v"),
    "softmax": ("v", "v"),
    "reverse": ("v", "v"),
    "outer": ("vv", "v"),
    "choose": ("bvv", "v"),
    "float": ("i", "v"),
    "total": ("w", "v"),
    "pad": ("w", "v"),
    "grow": ("vw", "w"),
    "rest": ("w", "w"),
    "distinct": ("w", "w"),
    "some": ("v", "w"),
    "round": ("v", "i"),
    "inc": ("i", "i"),
    "plus": ("ii", "i"),
    "rem": ("i", "i"),
    "pick": ("bii", "i"),
    "count": ("w", "i"),
    "length": ("s", "i"),
    "hash": ("s", "i"),
    "less": ("ii", "b"),
    "positive": ("v", "b"),
    "not": ("b", "b"),
    "both": ("bb", "b"),
    "same": ("ss", "b"),
    "text": ("i", "s"),
    "join": ("ss", "s"),
    "cut": ("s", "s"),
}

#: What Python computes, in ``py_func``.
PYTHON = {"double": ("v", "v"), "flip": ("v", "v"), "tail": ("w", "w"), "odd": ("i", "b"), "next": ("i", "i"),
          "shout": ("s", "s")}  # fmt: skip

#: What can fail, and what it reads; it gives its first input.
FAILURES = {"assert": "vi", "number": "vs", "gather": "vi", "numerics": "v", "python": "vi", "reshape": "vw",
            "divide": "ii", "slice": "wi", "unwritten": "vi", "example": "vs", "regex": "ss"}  # fmt: skip

#: What reads or changes state: of a ``variable``, a ``queue``, an ``iterator``.
ON = {"variable": ("read", "assign", "assign_add"), "queue": ("enqueue", "dequeue", "size"), "iterator": ("next",)}


def blocks_of(statement):
    """The blocks inside a statement."""
    return statement.get("blocks", [])


def walk(statements):
    """All statements, those inside others too."""
    for statement in statements:
        yield statement
        for block in blocks_of(statement):
            yield from walk(block["block"])


def keys_of(statements, serial):
    """What statements have an effect on, in a fixed order: each is a chain of operators that run one after another."""
    found = set()
    for one in walk(statements):
        if "on" in one:
            found.add("all" if serial else f"on {one['on']}")
        elif one["do"] == "python" and one.get("stateful"):
            found.add("all" if serial else "python")
        elif one["do"] == "fail" and serial:
            found.add("all")
    return sorted(found)


def shown(program):
    """A program as lines to read."""
    lines = [f"control flow {program['control_flow']}{', serial' if program['serial'] else ''}"]
    lines.extend(f"declare {_line(one)}" for one in program["declare"])
    _show(program["block"], "", lines)
    lines.extend(f"run {_line(one)}" for one in program["runs"])
    return lines


def _show(statements, indent, lines):
    for one in statements:
        lines.append(indent + _line(one))
        for block in blocks_of(one):
            lines.append(f"{indent}  ({', '.join(map(str, block['params']))}) -> {block['out']}:")
            _show(block["block"], indent + "    ", lines)


def _line(one):
    given = ", ".join(map(str, one.get("ids", ())))
    read = " ".join(f"{kind}{number}" for kind, number in one.get("in", ()))
    rest = {k: v for k, v in sorted(one.items()) if k not in ("do", "ids", "in", "blocks")}
    return f"{given + ' = ' if given else ''}{one.get('do', '')} {read} {rest or ''}".strip()
