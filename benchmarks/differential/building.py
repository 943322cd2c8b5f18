"""Builds the graph of a program."""

from __future__ import annotations

import collections
import threading

import numpy as np
import tensorflow.compat.v1 as tf
from benchmarks.differential import computing
from benchmarks.differential.computing import DTYPES, SHAPES, constant, copied, typed
from benchmarks.differential.language import MATH, keys_of
from tensorflow.python.framework import function as functions


class Scope:
    """What can be read at a place, and after what the next effect comes, by what it is on."""

    def __init__(self, known, chains=()):
        self.known = dict(known)
        self.chains = dict(chains)

    def read(self, end):
        """A tensor of a type; a constant where nothing gave it."""
        kind, number = end
        found = self.known.get(number)
        return constant(kind) if found is None or found[0] != kind else found[1]

    def after(self, keys):
        """What is made inside comes after the last effects."""
        return tf.control_dependencies([op for key in keys for op in self.chains.get(key, ())])

    def give(self, kind, number, tensor):
        self.known[number] = (kind, tensor)


class Building:
    """The graph of one program, made in the default graph.

    Attributes:
        scope: what the program gives at its outermost level.
        placeholders, variables, queues, iterators: what it declares, by id.
        calls: how often each stateful Python function was called.
        refused: statements that TensorFlow would not build, and why.
        reads, sizes, elements: what tells in the end what is in variables, queues and iterators.
    """

    def __init__(self, program):
        self.program = program
        self.scope = Scope({})
        self.placeholders, self.variables, self.queues, self.iterators = {}, {}, {}, {}
        self.initializers, self.later = [], []
        self.calls = collections.Counter()
        self.refused = []
        self._lock = threading.Lock()
        for one in program["declare"]:
            with tf.name_scope(f"n{one['ids'][0]}"):
                getattr(self, f"_declare_{one['do']}")(one)
        self._block(program["block"], self.scope)
        self.saver = None
        if self.variables and any(run["how"] == "save" for run in program["runs"]):
            self.saver = tf.train.Saver([variable for _, variable in self.variables.values()])
        self.reads = {number: variable.read_value() for number, (_, variable) in self.variables.items()}
        self.sizes = {number: (queue.size(), queue.dequeue()) for number, queue in self.queues.items()}
        self.elements = {number: iterator.get_next() for number, iterator in self.iterators.items()}

    # -- what is there -------------------------------------------------------------------------------------------------

    def _declare_placeholder(self, one):
        number, kind = one["ids"][0], one["type"]
        tensor = tf.placeholder(DTYPES[kind], SHAPES[kind], name="fed")
        self.placeholders[number] = tensor
        self.scope.give(kind, number, tensor)

    def _declare_variable(self, one):
        kind = one["type"]
        value = constant(kind, one["value"])
        variable = tf.Variable(value, use_resource=one["resource"], trainable=False, name=f"variable{one['ids'][0]}")
        self.variables[one["ids"][0]] = (kind, variable)
        (self.initializers if one["initialized"] else self.later).append(variable.initializer)

    def _declare_queue(self, one):
        self.queues[one["ids"][0]] = tf.FIFOQueue(one["capacity"], [tf.float32], [[3]], name="queue")
        self._capacity = {**getattr(self, "_capacity", {}), one["ids"][0]: one["capacity"]}

    def _declare_iterator(self, one):
        def element(number):
            value = tf.cast(number, tf.float32) * [1.0, 0.5, -1.0]
            if one["python"]:
                value = tf.py_func(lambda a: a + np.float32(1), [value], tf.float32)
                value.set_shape([3])
            return value

        data = tf.data.Dataset.range(one["count"] or 5).map(element)
        if not one["count"]:
            data = data.repeat()
        if one["one_shot"] and not one["python"]:
            made = self.iterators[one["ids"][0]] = tf.data.make_one_shot_iterator(data)
            if self.program["serial"]:
                # It begins with the first run that reads it. Where that fails elsewhere it may be cancelled for ever.
                self.initializers.append(made._iterator_resource.op)
        else:
            self.iterators[one["ids"][0]] = tf.data.make_initializable_iterator(data)
            self.initializers.append(self.iterators[one["ids"][0]].initializer)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _block(self, statements, scope):
        for one in statements:
            try:
                with tf.name_scope(f"n{one['ids'][0]}"):
                    made = getattr(self, f"_{one['do']}")(one, scope)
                for number, (kind, tensor) in zip(one["ids"], made):
                    scope.give(kind, number, typed(kind, tensor))
            except Exception as error:  # noqa: BLE001 a statement that TensorFlow will not build is left out
                self.refused.append([one["ids"][0], f"{type(error).__name__}: {str(error)[:200]}"])

    def _keys(self, *statements):
        return keys_of(statements, self.program["serial"])

    def _alias(self, one, scope):
        return [(one["in"][0][0], tf.identity(scope.read(one["in"][0])))]

    def _math(self, one, scope):
        return [(MATH[one["fn"]][1], computing.MATH[one["fn"]](*map(scope.read, one["in"])))]

    def _python(self, one, scope):
        kind = one["in"][0][0] if one["fn"] != "odd" else "b"
        number, work = one["ids"][0], computing.PYTHON[one["fn"]]

        def counted(value):
            with self._lock:
                self.calls[number] += 1
            return work(value)

        keys = self._keys(one)
        with scope.after(keys):
            made = tf.py_func(counted, [scope.read(one["in"][0])], DTYPES[kind], stateful=one["stateful"])
        scope.chains.update((key, [made.op]) for key in keys)
        return [(kind, made)]

    def _gradient(self, one, scope):
        of, by = map(scope.read, one["in"])
        found = tf.gradients(of, by)[0]
        return [("v", tf.zeros([3]) if found is None else tf.convert_to_tensor(found))]

    def _fail(self, one, scope):
        keys = self._keys(one)
        with scope.after(keys):
            read = [tf.identity(scope.read(end)) for end in one["in"]]
        made = tf.identity(computing.FAILURES[one["how"]](*read, one["bound"]))
        scope.chains.update((key, [made.op]) for key in keys)
        return [(one["in"][0][0], made)]

    def _effect(self, one, scope):
        keys = self._keys(one)
        with scope.after(keys):
            read = [tf.identity(scope.read(end)) for end in one["in"]]
            kind, made = getattr(self, f"_{one['do']}_on")(one["on"], *read)
        scope.chains.update((key, [made.op]) for key in keys)
        return [(kind, made)]

    _read = _assign = _assign_add = _enqueue = _dequeue = _size = _next = _effect

    def _read_on(self, on):
        kind, variable = self.variables[on]
        return kind, copied(kind, variable.read_value())

    def _assign_on(self, on, value):
        kind, variable = self.variables[on]
        return kind, copied(kind, variable.assign(value, read_value=True))

    def _assign_add_on(self, on, value):
        kind, variable = self.variables[on]
        return kind, copied(kind, variable.assign_add(tf.tanh(value) if kind == "v" else value))

    def _size_on(self, on):
        return "i", self.queues[on].size()

    def _enqueue_on(self, on, value):
        queue = self.queues[on]

        def put():
            with tf.control_dependencies([queue.enqueue(value)]):
                return tf.identity(value)

        return "v", tf.cond(queue.size() < self._capacity[on], put, lambda: -value)

    def _dequeue_on(self, on):
        queue = self.queues[on]
        return "v", tf.cond(queue.size() > 0, lambda: tf.reshape(queue.dequeue(), [3]), lambda: constant("v"))

    def _next_on(self, on):
        return "v", tf.identity(self.iterators[on].get_next())

    # -- with statements inside ----------------------------------------------------------------------------------------

    def _inside(self, block, scope, params, types, chains=()):
        """The values that a block gives, and a scope that knows its effects."""
        inner = Scope(scope.known, chains)
        for (kind, tensor), number in zip(params, block["params"]):
            inner.give(kind, number, tensor)
        self._block(block["block"], inner)
        return [typed(kind, tf.identity(inner.read((kind, end[1])))) for kind, end in zip(types, block["out"])], inner

    def _cond(self, one, scope):
        keys = self._keys(one)
        with scope.after(keys):
            chosen = tf.identity(scope.read(one["in"][0]))

        def branch(block):
            values, inner = self._inside(block, scope, [], one["types"])
            with inner.after(keys):
                return [*values, tf.identity(tf.constant(0))]

        made = tf.cond(chosen, *(lambda block=block: branch(block) for block in one["blocks"]))
        scope.chains.update((key, [made[-1].op]) for key in keys)
        return list(zip(one["types"], made))

    def _while(self, one, scope):
        types, keys = one["types"], self._keys(one)
        with scope.after(keys):
            begun = tf.identity(tf.constant(0))
            values = [tf.identity(scope.read(end)) for end in one["in"][: len(types)]]
            turns = tf.identity(tf.constant(one["turns"]))
        if len(one["in"]) > len(types):
            turns = tf.minimum(turns, tf.abs(scope.read(one["in"][-1])))
        arrays = []
        if "array" in one:
            arrays = [tf.TensorArray(tf.float32, size=turns, element_shape=[3], clear_after_read=False)]

        def params(turn, carried):
            return [("i", turn), *zip(types, carried)]

        def goes_on(turn, *carried):
            more = turn < turns
            if len(one["blocks"]) > 1:
                block = one["blocks"][1]
                more = tf.logical_and(more, self._inside(block, scope, params(turn, carried), ["b"])[0][0])
            return more

        def body(turn, *carried):
            turn = tf.identity(turn)
            chains = {key: [turn.op] for key in keys}
            values, inner = self._inside(one["blocks"][0], scope, params(turn, carried), types, chains)
            with inner.after(keys):
                following = tf.add(turn, 1)
            for array in carried[len(types) :]:
                place = types.index("v")
                array = array.write(turn, values[place])
                if one["seen"]:
                    values[place] = typed("v", tf.tanh(array.read(turn)))
                return [following, *values, array]
            return [following, *values]

        with tf.name_scope("while"):
            shapes = [tf.TensorShape(SHAPES[kind]) for kind in ("i", *types)]
            given = [begun, *(typed(kind, value) for kind, value in zip(types, values)), *arrays]
            shapes.extend(tf.TensorShape(None) for _ in arrays)
            made = tf.while_loop(goes_on, body, given, shapes, parallel_iterations=one["parallel"])
        scope.chains.update((key, [made[0].op]) for key in keys)
        result = list(zip(types, made[1:]))
        if arrays:
            result.append(("v", _of_array(made[-1], one["array"])))
        return result

    def _map(self, one, scope):
        rows = tf.stack([scope.read(end) for end in one["in"]])

        def inside(*params):
            return self._inside(one["blocks"][0], scope, [("v", typed("v", row)) for row in params], ["v"])[0][0]

        parallel = {"parallel_iterations": one["parallel"]}
        if one["how"] == "map":
            made = tf.reduce_sum(tf.map_fn(inside, rows, **parallel), 0)
        elif one["how"] == "scan":
            made = tf.scan(inside, rows, **parallel)[-1]
        else:
            made = tf.foldl(inside, rows, **parallel)
        return [("v", made)]

    def _function(self, one, scope):
        keys, read = self._keys(one), [kind for kind, _ in one["in"]]

        def inside(token, *values):
            token.set_shape([])
            params = [(kind, typed(kind, value)) for kind, value in zip(read, values)]
            made, inner = self._inside(one["blocks"][0], scope, params, one["types"])
            with inner.after(keys):
                return tuple(made) + (tf.identity(token),)

        if one["style"] == "defun":
            called = functions.Defun(tf.int32, *(DTYPES[kind] for kind in read), func_name=f"defun{one['ids'][0]}")(
                inside
            )
        else:
            called = tf.function(inside, autograph=False)
        values = [scope.read(end) for end in one["in"]]
        for _ in range(one["times"]):
            with scope.after(keys):
                made = called(tf.identity(tf.constant(0)), *map(tf.identity, values))
            for kind, value in zip(one["types"], made):
                value.set_shape(SHAPES[kind])
            scope.chains.update((key, [made[-1].op]) for key in keys)
            values = [next((m for k, m in zip(one["types"], made) if k == kind), v) for kind, v in zip(read, values)]
        return list(zip(one["types"], made))


def _of_array(array, how):
    if how == "stack":
        return tf.reduce_sum(array.stack(), 0)
    if how == "gather":
        return tf.reduce_sum(array.gather(tf.range(array.size())), 0)
    if how == "concat":
        return tf.reduce_sum(tf.reshape(array.concat(), [-1, 3]), 0)
    if how == "size":
        return tf.cast(array.size(), tf.float32) + tf.zeros([3])
    return array.read(0)
