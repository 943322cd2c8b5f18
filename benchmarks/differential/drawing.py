"""Draws programs: number N of a seed is the same in every version of Python."""

from __future__ import annotations

import random

from benchmarks.differential.language import DEPTH, FAILURES, MATH, ON, PYTHON, keys_of

STATEMENTS = 24  # of a program
TURNS = 150  # of the innermost statement of nested loops


class Drawing:
    """One program in the making."""

    def __init__(self, seed):
        self._random = random.Random(f"differential/{seed}")
        self._ids = 0
        self._left = STATEMENTS
        self._serial = self.chance(35)
        self._fails = 1 if self._serial and self.chance(75) else 0
        self._failing = self._fails > 0
        self._mapping = 0
        self._pure = not self._serial and self.chance(30)
        self._declared = {kind: [] for kind in ON}
        #: Chances of compound statements: programs differ in what they are full of.
        self._likes = [self.below(8) + 1 for _ in _COMPOUND]
        self._host = self.pick((0, 10, 25))

    def below(self, count):
        return self._random.randrange(count)

    def chance(self, percent):
        return self.below(100) < percent

    def pick(self, things):
        return things[self.below(len(things))]

    def new(self):
        self._ids += 1
        return self._ids

    def program(self):
        """A whole program."""
        scope = {kind: [] for kind in "vwibs"}
        declare, placeholders = self._declarations(scope)
        control_flow = self.pick((1, 2))
        block = self._block(scope, 0, 1, 5 + self.below(8), True)
        while self._fails:
            block.append(self._fail(scope))
        effects = bool(keys_of(block, self._serial))
        runs = [self._run(scope, placeholders, effects) for _ in range(1 + self.below(3))]
        if self._declared["variable"] and self.chance(25):
            runs.insert(self.below(len(runs) + 1), {"how": "save"})
        return {"control_flow": control_flow, "serial": self._serial, "declare": declare, "block": block, "runs": runs}

    # -- what is there -------------------------------------------------------------------------------------------------

    def _declarations(self, scope):
        made, placeholders = [], []
        for kind in ("v", *(self.pick("vwibs") for _ in range(self.below(3)))):
            one = {"do": "placeholder", "ids": [self.new()], "type": kind}
            made.append(one)
            placeholders.append((kind, one["ids"][0]))
            scope[kind].append(one["ids"][0])
        for _ in range(0 if self._pure else self.below(3) + 1):
            one = {"do": "variable", "ids": [self.new()], "type": self.pick("vvis"), "resource": self.chance(60)}
            one["value"] = self._value(one["type"])
            one["initialized"] = not (self._serial and self.chance(8))
            made.append(one)
            self._declared["variable"].append(one)
        if not self._pure and self.chance(25):
            made.append({"do": "queue", "ids": [self.new()], "capacity": 2 + self.below(4), "random": False})
            self._declared["queue"].append(made[-1])
        if not self._pure and self.chance(25):
            one = {"do": "iterator", "ids": [self.new()], "one_shot": self.chance(50), "python": self.chance(30)}
            one["count"] = 2 + self.below(4) if self._serial else 0  # without end, unless it may fail
            made.append(one)
            self._declared["iterator"].append(one)
        return made, placeholders

    def _value(self, kind):
        if kind in "vw":
            count = 3 if kind == "v" else self.pick((0, 1, 3, 5))
            return [(self.below(33) - 16) / 8.0 for _ in range(count)]
        if kind == "i":
            return self.below(7) - 1
        return self.chance(50) if kind == "b" else self.pick(("", "7", "ab", "-3.5", "long text"))

    # -- statements ----------------------------------------------------------------------------------------------------

    def _block(self, scope, depth, turns, count, effects):
        statements = []
        for _ in range(count):
            if self._left <= 0:
                break
            self._left -= 1
            made = self._statement(scope, depth, turns, effects)
            statements.append(made)
        return statements

    def _statement(self, scope, depth, turns, effects):
        if depth < DEPTH and self.chance(45 if depth else 35):
            total = self.below(sum(self._likes))
            for name, likes in zip(_COMPOUND, self._likes):
                total -= likes
                if total < 0:
                    return getattr(self, f"_{name}")(scope, depth, turns, effects)
        if self._fails and self.chance(6 + 6 * depth):
            return self._fail(scope)
        if effects and not self._pure and self.chance(28):
            return self._effect(scope)
        if self.chance(self._host):
            fn = self.pick(sorted(PYTHON))
            stateful = effects and self.chance(40)
            return self._made(scope, "python", *PYTHON[fn], fn=fn, stateful=stateful)
        if self.chance(8) and depth < 3 and not self._mapping:
            return self._made(scope, "gradient", "vv", "v")
        fn = self.pick(sorted(MATH))
        return self._made(scope, "math", *MATH[fn], fn=fn)

    def _made(self, scope, do, read, given, **more):
        one = {"do": do, "ids": [self.new()], "in": [self._input(scope, kind) for kind in read], **more}
        scope[given].append(one["ids"][0])
        return one

    def _input(self, scope, kind):
        """Mostly something new: old things are then needed by fewer."""
        known = scope[kind]
        if not known:
            return [kind, 0]
        return [kind, known[-1 - min(self.below(len(known)), self.below(len(known)))]]

    def _fail(self, scope):
        self._fails -= 1
        how = self.pick(sorted(FAILURES))
        return self._made(scope, "fail", FAILURES[how], FAILURES[how][0], how=how, bound=self.below(4))

    def _effect(self, scope):
        kinds = [kind for kind in ("variable", "variable", "queue", "iterator") if self._declared[kind]]
        kind = self.pick(kinds)
        on = self.pick(self._declared[kind])
        do = self.pick(ON[kind])
        if kind == "variable" and on["type"] == "s" and do == "assign_add":
            do = "assign"
        given = on.get("type", "i" if do == "size" else "v")
        read = given if do in ("assign", "assign_add", "enqueue") else ""
        return self._made(scope, do, read, given, on=on["ids"][0])

    def _cond(self, scope, depth, turns, effects):
        types = [self.pick("vvwibs") for _ in range(1 + self.below(2))]
        one = {"do": "cond", "ids": [self.new() for _ in types], "in": [self._input(scope, "b")], "types": types}
        one["blocks"] = [self._inner(scope, depth, turns, [], types, effects) for _ in range(2)]
        return self._give(scope, one, types)

    def _while(self, scope, depth, turns, effects):
        types = [self.pick("vvvwwibs") for _ in range(1 + self.below(3))]
        one = {"do": "while", "ids": [self.new() for _ in types], "in": [self._input(scope, kind) for kind in types]}
        one["types"], one["turns"] = types, self.pick((0, 1, 2, 2, 3, 3, 4, 12, 23))
        one["parallel"] = self.pick((1, 2, 3, 10, 10))
        while turns * one["turns"] > TURNS:
            one["turns"] //= 2
        if self.chance(15):
            one["in"].append(self._input(scope, "i"))  # how many turns is only known as it runs
        params = [("i", self.new()), *((kind, self.new()) for kind in types)]
        inner = turns * max(one["turns"], 1)
        one["blocks"] = [self._inner(scope, depth, inner, params, types, effects)]
        if self.chance(20):
            one["blocks"].append(self._inner(scope, DEPTH, inner, params, ["b"], False, 2))
        if "v" in types and self.chance(30):
            one["array"] = self.pick(("stack", "gather", "concat", "read", "size"))
            one["ids"].append(self.new())
            one["seen"] = self.chance(40)  # what is written is read again inside
            return self._give(scope, one, [*types, "v"])
        return self._give(scope, one, types)

    def _map(self, scope, depth, turns, effects):
        how = self.pick(("map", "scan", "fold"))
        count = 1 + self.below(4)
        one = {"do": "map", "how": how, "ids": [self.new()], "in": [self._input(scope, "v") for _ in range(count)]}
        one["parallel"] = self.pick((1, 2, 10))
        params = [("v", self.new()) for _ in range(1 if how == "map" else 2)]
        # Gradients of the elements, in there, would read TensorArrays that others have read to the end.
        self._mapping += 1
        one["blocks"] = [self._inner(scope, depth, turns * count, params, ["v"], False)]
        self._mapping -= 1
        return self._give(scope, one, ["v"])

    def _function(self, scope, depth, turns, effects):
        types = [self.pick("vvibs") for _ in range(1 + self.below(2))]
        read = [self.pick("vvib") for _ in range(self.below(3))]
        one = {"do": "function", "ids": [self.new() for _ in types], "style": self.pick(("defun", "function"))}
        one["in"], one["types"] = [self._input(scope, kind) for kind in read], types
        one["times"] = self.pick((1, 1, 2))
        params = [(kind, self.new()) for kind in read]
        one["blocks"] = [self._inner(scope, depth, turns * one["times"], params, types, effects)]
        return self._give(scope, one, types)

    def _give(self, scope, one, types):
        for kind, number in zip(types, one["ids"]):
            scope[kind].append(number)
        return one

    def _inner(self, scope, depth, turns, params, types, effects, most=5):
        inner = {kind: list(ids) for kind, ids in scope.items()}
        for kind, number in params:
            inner[kind].append(number)
        block = self._block(inner, depth + 1, turns, 1 + self.below(most), effects)
        out = [
            [kind, inner[kind][-1]] if inner[kind] and self.chance(65) else self._input(inner, kind) for kind in types
        ]
        return {"params": [number for _, number in params], "block": block, "out": out}

    # -- runs ----------------------------------------------------------------------------------------------------------

    def _run(self, scope, placeholders, effects):
        known = [[kind, number] for kind in "vwibs" for number in scope[kind]]
        known = [one for one in known if (one[0], one[1]) not in placeholders] or known
        how = self.pick(("run", "run", "run", "callable", "options", "partial", "threads"))
        if effects and how in ("partial", "threads"):
            how = "run"
        fetch = [self.pick(known) for _ in range(1 + self.below(4))]
        feed = [[number, self._value(kind)] for kind, number in placeholders]
        if self._serial and self.chance(6) and not effects and not self._failing:
            # What lacks a feed fails beside all else, so nothing else may fail or leave anything.
            feed.pop(self.below(len(feed)))
        return {"how": how, "fetch": [list(one) for one in {tuple(one): 0 for one in fetch}], "feed": feed}


_COMPOUND = ("cond", "while", "map", "function")


def draw(seed):
    """The program of a seed, a text such as ``"0/17"``."""
    return Drawing(seed).program()
