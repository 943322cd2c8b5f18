"""Every command's help ends with examples, which the command takes; shells complete its words."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import click
import pytest

from npu_conformance.cli import cli

pytestmark = pytest.mark.not_oldest


def commands():
    """(words, command) of every command and command of a group."""
    for name, command in cli.commands.items():
        if isinstance(command, click.Group):
            yield from (((name, inner), one) for inner, one in command.commands.items())
        else:
            yield (name,), command


def examples(command):
    """The command lines at the end of a help."""
    with click.Context(command, info_name="x") as context:
        text = command.get_help(context)
    return [line.strip() for line in text.partition("  Examples:\n")[2].splitlines()]


ALL = list(commands())


@pytest.mark.parametrize("words, command", ALL, ids=["-".join(words) for words, _ in ALL])
def test_every_example_is_a_line_that_the_command_takes(words, command):
    found = examples(command)
    assert found
    for line in found:
        given = shlex.split(line.partition(" | ")[2] or line)
        given = given[: next((at for at, word in enumerate(given) if word in "<>"), len(given))]
        assert given[: 1 + len(words)] == ["npu-conformance", *words]
        with command.make_context(words[-1], given[1 + len(words) :]):
            pass


@pytest.mark.parametrize(
    "words, wanted", [("par", "partition"), ("partition --edi", "--edition"), ("partition --edition leg", "legacy")]
)
def test_a_shell_is_told_how_a_word_goes_on(words, wanted):
    env = {
        **os.environ,
        "_NPU_CONFORMANCE_COMPLETE": "bash_complete",
        "COMP_WORDS": f"npu-conformance {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = subprocess.run([sys.executable, "-m", "npu_conformance"], env=env, stdout=subprocess.PIPE, timeout=120)
    assert done.stdout.decode().split() == [f"plain,{wanted}"]


def test_the_help_says_how_completion_is_switched_on():
    with click.Context(cli, info_name="npu-conformance") as context:
        assert 'eval "$(_NPU_CONFORMANCE_COMPLETE=bash_source npu-conformance)"' in cli.get_help(context)
