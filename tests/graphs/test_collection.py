"""When the garbage collector looks: never left off, whoever builds at the same time."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from npu_reference.collection import no_collection
from npu_reference.graphs import GraphBuilder, parse_graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import assign


def test_of_two_that_build_at_once_the_last_to_end_lets_the_collector_look_again():
    first, second = no_collection(), no_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_who_has_it_off_keeps_it_off():
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
def test_a_process_forked_while_another_thread_builds_collects():
    building = no_collection()
    building.__enter__()
    try:
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        building.__exit__(None, None, None)
    assert gc.isenabled()


def chain(length):
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [4, 4])
    for k in range(length):
        value = g.op("MatMul", f"step{k}", [value, value])
    return g


def looks_during(step):
    """What a step gives, and how often the collector looked meanwhile: one of fifty new objects has it look."""
    looks = []

    def look(phase, info):
        looks.append(phase)

    before = gc.get_threshold()
    gc.callbacks.append(look)
    gc.set_threshold(50)
    try:
        return step(), looks.count("start")
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(look)


def test_the_collector_looks_neither_while_a_graph_is_read_nor_while_answers_are_made():
    data, options = chain(500).build().to_bytes(), resolve({})
    graph, reading = looks_during(lambda: parse_graph(data))
    cut, cutting = looks_during(lambda: partition(graph, options))
    kinds, choosing = looks_during(lambda: assign(cut, options))
    answers = [looks_during(one.to_json)[1] for one in (cut, kinds)]
    # It looks once as it is let go again.
    assert max(reading, cutting, choosing, *answers) <= 2


@pytest.mark.parametrize(("command", "collects"), [("options", "False"), ("worker", "True")])
def test_a_command_that_answers_once_does_not_collect(command, collects):
    program = (
        "import gc, sys, click\n"
        "from npu_conformance import cli\n"
        "one = cli.cli.commands[sys.argv[1]]\n"
        "one.params, one.callback = [], lambda: print(gc.isenabled())\n"
        "cli.main([sys.argv[1]])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, command], stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().split() == [collects]
