"""When the garbage collector looks: never left off, whoever builds at the same time."""

from __future__ import annotations

import gc
import os

import pytest

from npu_reference.collection import no_collection


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
