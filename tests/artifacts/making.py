"""Compiled models and programs for the tests of this folder."""

from __future__ import annotations

import functools

from npu_reference.artifacts import FolderPlace, Model, Program
from npu_reference.catalog import OpList
from npu_reference.compiler import compile_graph, settings_of
from npu_reference.graphs import GraphBuilder, arg_shapes, close_over
from npu_reference.hardware import built_in
from npu_reference.options import fileview, resolve
from npu_reference.partition import partition
from npu_reference.precision import assign

__all__ = ["Machine", "apart", "dense"]


def dense(weight=0.5, size=8):
    """x times a constant, through Relu."""
    g = GraphBuilder()
    product = g.op(
        "MatMul", "matmul", [g.placeholder("x", "float16", [4, size]), g.const("w", weight, "float16", [size, size])]
    )
    g.op("Relu", "relu", [product])
    return g.build(), ["x:0"], ["relu:0"]


def apart(rows=4):
    """A product and a sum that have nothing to do with each other."""
    g = GraphBuilder()
    g.op("MatMul", "product", [g.placeholder("x", "float16", [rows, 8]), g.placeholder("w", "float16", [8, 8])])
    g.op("Sum", "total", [g.placeholder("y", "float16", [16, 16]), g.const("axes", [1], "int32")])
    return g.build(), ["x:0", "w:0", "y:0"], ["product:0", "total:0"]


class Machine:
    """A folder that stands for a machine, on which programs run one after the other; ``now`` is its clock."""

    def __init__(self, path, **values):
        self.path, self.values, self.now, self.programs = path, values, 1_600_000_000.0, 0

    def program(self, **more):
        self.programs += 1
        place = FolderPlace(str(self.path), str(self.path))
        return Program(place, process=str(1000 + self.programs), clock=lambda: self.now, **more)

    def compile(
        self, net=None, *, program=None, session=0, env=None, edition="current", surface="runconfig", more=(), **values
    ):
        """What a program leaves that compiles a net under some options, on a device that has some operators more."""
        graph, feeds, fetches = net or apart()
        shapes = arg_shapes(graph, feeds, {})
        env = env or {}
        given = {**self.values, **values}
        resolution = resolve(given, surface=surface, edition=edition, env=env, files=_Rooted(str(self.path)))
        resolution.raise_first()
        operators = functools.reduce(OpList.with_operator, more, OpList.built_in())
        cut = partition(close_over(graph, feeds, fetches, []), resolution, op_list=operators, shapes=shapes)
        assignment = assign(cut, resolution)
        compiled = compile_graph(cut, assignment, built_in(), settings_of(resolution), shapes)
        program = program or self.program()
        return program.compile(Model(cut, assignment, compiled, shapes), resolution, env, session)

    def files(self, below=""):
        """Paths of all files but the writers' own."""
        root = self.path / below
        return sorted(
            str(one.relative_to(self.path)) for one in root.rglob("*") if one.is_file() and not one.name.startswith(".")
        )


class _Rooted(fileview.Disk):
    def __init__(self, root):
        self._place = FolderPlace(root, root)

    def _bytes(self, path):
        return super()._bytes(self._place.path(path))

    def directory_problem(self, path):
        return super().directory_problem(self._place.path(path))
