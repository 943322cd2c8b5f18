"""What ``--fix`` writes, pair by pair, and what it leaves as it was."""

# ruff: noqa: E501  pairs in rows
from __future__ import annotations

import pytest

from npu_conformance.lint.registry import rules
from tests.lint.planted import PLANTED, SESSION, STAR
from tests.lint.reading import answer, findings, mended

MAP = "custom_op.parameter_map"

PAIRS = [
    # keys keep their quotes
    (SESSION, f'{MAP}["precison_mode"].s = b"x"\n', f'{MAP}["precision_mode"].s = b"x"\n', "W101"),
    (SESSION, f"{MAP}['mix_compile_mod'].b = True  # on\n", f"{MAP}['mix_compile_mode'].b = True  # on\n", "W101"),
    (SESSION, f"key = 'x'\nfor k in ('use_of_line',):\n    {MAP}[k].b = True\n",
     f"key = 'x'\nfor k in ('use_off_line',):\n    {MAP}[k].b = True\n", "W101"),
    # fields and the values in them
    (SESSION, f'{MAP}["mix_compile_mode"].i = 1\n', f'{MAP}["mix_compile_mode"].b = True\n', "E102"),
    (SESSION, f'{MAP}["graph_run_mode"].s = tf.compat.as_bytes("0")\n', f'{MAP}["graph_run_mode"].i = 0\n', "E102"),
    (SESSION, f'{MAP}["mix_compile_mode"] = False\n', f'{MAP}["mix_compile_mode"].b = False\n', "E102"),
    (SESSION, f'{MAP}[ "graph_run_mode" ] . b  =  0  # mode\n', f'{MAP}[ "graph_run_mode" ] . i  =  0  # mode\n', "E102"),
    # bytes
    (SESSION, f'{MAP}["precision_mode"].s = "force_fp32"\n',
     f'{MAP}["precision_mode"].s = tf.compat.as_bytes("force_fp32")\n', "E103"),
    ("from npu_bridge.estimator import npu_ops\n", "custom_op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
     "custom_op.name = 'NpuOptimizer'\n" f"{MAP}['precision_mode'].s = 'force_fp32'\n",
     "custom_op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
     "custom_op.name = 'NpuOptimizer'\n" f"{MAP}['precision_mode'].s = b'force_fp32'\n", "E103"),
    # types and words
    (SESSION, f'{MAP}["mix_compile_mode"].b = "False"\n', f'{MAP}["mix_compile_mode"].b = False\n', "E104"),
    (STAR, "c = NPURunConfig(iterations_per_loop='10',\n                 model_dir='m')\n",
     "c = NPURunConfig(iterations_per_loop=10,\n                 model_dir='m')\n", "E104"),
    (STAR, "c = NPURunConfig(precision_mode='alow_mix_precision')\n", "c = NPURunConfig(precision_mode='allow_mix_precision')\n", "E105"),
    # arguments
    (STAR, "c = NPURunConfig(precision_mod='force_fp32')\n", "c = NPURunConfig(precision_mode='force_fp32')\n", "E101"),
    (STAR, "c = DumpConfig(enable_dmp = True)\n", "c = DumpConfig(enable_dump = True)\n", "E101"),
    # the entry's name
    ("", SESSION.replace("NpuOptimizer", "NpuOptimiser"), SESSION, "E110"),
    # names
    (STAR, "s = npu_confg_proto( )\n", "s = npu_config_proto( )\n", "E202"),
    ("", "from npu_bridge.estimator.npu.npu_config import NPURunConfg, DumpConfig\nc = NPURunConfg()\n",
     "from npu_bridge.estimator.npu.npu_config import NPURunConfig, DumpConfig\nc = NPURunConfig()\n", "E202"),
    ("", "from npu_bridge.npu_int import *\n", "from npu_bridge.npu_init import *\n", "E201"),
    ("", "from npu_bridge.npu_estimator import NPUEstimator as E\n",
     "from npu_bridge.estimator.npu.npu_estimator import NPUEstimator as E\n", "E203"),
    ("", "import tensorflow as tf\n\nc = npu_config_proto()\n",
     "import tensorflow as tf\nfrom npu_bridge.npu_init import *\n\nc = npu_config_proto()\n", "E204"),
    (STAR, "with npu_scope.keep_dtype_scope :\n    pass\n", "with npu_scope.keep_dtype_scope() :\n    pass\n", "E302"),
]  # fmt: skip


@pytest.mark.parametrize("head, before, after, code", PAIRS, ids=[f"{pair[3]}-{n}" for n, pair in enumerate(PAIRS)])
def test_a_finding_is_mended_and_nothing_else_changes(head, before, after, code):
    assert mended(head + before, only=[code]) == head + after


KEPT = [
    (SESSION + f'{MAP}["frobnicate"].b = True\n', "W101"),  # nothing is near
    (SESSION + f'{MAP}["mix_compile_mode"].b = True\n{MAP}["mix_compile_mod"].b = True\n', "W101"),  # given already
    (SESSION + f'{MAP}["precision_mode"].b = True\n', "E102"),  # no text is meant
    (SESSION + f'{MAP}["graph_run_mode"].s = value\n', "E102"),  # what it means cannot be seen
    (SESSION + f'{MAP}["graph_run_mode"].s = tf.compat.as_bytes("7")\n', "E102"),  # no value of the option
    (STAR + "y = npu_ops.frobnicate(x)\n", "E202"),
    (STAR + "c = NPURunConfig(precision_mode='fp17')\n", "E105"),
]


@pytest.mark.parametrize("text, code", KEPT, ids=[f"{pair[1]}-{n}" for n, pair in enumerate(KEPT)])
def test_what_cannot_be_mended_for_certain_stays(text, code):
    found = answer(text, mend=True)
    assert found.after is None and code in {one.code for one in found.findings}


def test_one_fix_uncovers_the_next():
    before = SESSION + f'{MAP}["precison_mode"].s = "alow_mix_precision"\n'
    assert mended(before) == SESSION + f'{MAP}["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")\n'


@pytest.mark.parametrize(
    "data",
    [
        (SESSION + f'{MAP}["mix_compile_mod"].b = True').encode(),  # no end of the last line
        (SESSION + f'{MAP}["mix_compile_mod"].b = True\n').replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + (SESSION + f'{MAP}["mix_compile_mod"].b = True\n').encode(),
        ("# -*- coding: gbk -*-\n" + SESSION + f'{MAP}["mix_compile_mod"].b = True  # 混合\n').encode("gbk"),
        ("# coding: latin-1\n" + SESSION + f'{MAP}["mix_compile_mod"].b = True  # \xe9\n').encode("latin-1"),
        (SESSION + f"if x:\n\t{MAP}['mix_compile_mod'].b = True\t# tab\n\x0c\ny = (1,\\\n  2)\n").encode(),
    ],
    ids=["no-last-newline", "crlf", "byte-order-mark", "gbk", "latin-1", "tabs-and-form-feed"],
)
def test_bytes_that_are_not_mended_stay_as_they_were(data):
    found = answer(data, mend=True)
    assert found.after == data.replace(b"mix_compile_mod", b"mix_compile_mode")


def test_a_fix_is_not_made_where_the_file_would_not_be_read_any_more():
    before = "import tensorflow as tf\nif x:\n    pass\nelif tf.Session().run(y):\n    pass\n"
    after = mended(before, only=["S401"])
    compile(after, "after", "exec")
    assert "elif tf.Session(config=npu_config_proto()).run(y):" in after


#: What --fix makes by itself, and beside it what needs --unsafe-fixes.
SAFE = [
    (SESSION, f'{MAP}["precision_mode"].s = "force_fp32"\n', f'{MAP}["precision_mode"].s = tf.compat.as_bytes("force_fp32")\n'),
    (SESSION, f'{MAP}["mix_compile_mode"].b = "False"\n', f'{MAP}["mix_compile_mode"].b = False\n'),
    (STAR, "c = NPURunConfig(iterations_per_loop='10')\n", "c = NPURunConfig(iterations_per_loop=10)\n"),
    (STAR, "c = NPURunConfig(mix_compile_mode=1)\n", "c = NPURunConfig(mix_compile_mode=True)\n"),
    ("", "from npu_bridge.npu_estimator import NPUEstimator as E\n",
     "from npu_bridge.estimator.npu.npu_estimator import NPUEstimator as E\n"),
    (STAR, "with npu_scope.keep_dtype_scope:\n    pass\n", "with npu_scope.keep_dtype_scope():\n    pass\n"),
]  # fmt: skip

UNSAFE = {
    "a guess at an argument": STAR + "c = NPURunConfig(precision_mod='force_fp32')\n",
    "a guess at a value": STAR + "c = NPURunConfig(precision_mode='alow_mix_precision')\n",
    "a guess at a name": STAR + "s = npu_confg_proto()\n",
    "a guess at a keyword": STAR + "m = FixedLossScaleManager(loss_scal=128)\n",
    "an option that takes effect": SESSION + f'{MAP}["mix_compile_mode"].i = 1\n',
    "an ignored key": SESSION + f'{MAP}["mix_compile_mod"].b = True\n',
    "a reading of a text": SESSION + f'{MAP}["mix_compile_mode"].b = "yes"\n',
    "a session that moves": SESSION.replace("NpuOptimizer", "NpuOptimiser"),
    "an import that runs always": "import tensorflow as tf\nif npu:\n    c = npu_config_proto()\n",
    "a name of two modules": "from npu_bridge.npu_optimize import allreduce\n",
    "a decorator": STAR + "@keep_dtype_scope\ndef f(x):\n    return x\n",
    "examples left out": "import tensorflow as tf\nd = tf.data.Dataset.range(10).batch(4)\n",
    "other random numbers": "import tensorflow as tf\ny = tf.nn.dropout(x, rate=0.1)\n",
}


@pytest.mark.parametrize("head, before, after", SAFE, ids=range(len(SAFE)))
def test_what_cannot_change_the_meaning_is_mended_by_fix_alone(head, before, after):
    assert mended(head + before, unsafe=False) == head + after


@pytest.mark.parametrize("name", UNSAFE, ids=lambda name: name.replace(" ", "-"))
def test_what_may_change_the_meaning_needs_unsafe_fixes(name):
    found = answer(UNSAFE[name], mend=True, unsafe=False)
    assert found.after is None and any(one.fixable and one.unsafe for one in found.findings)
    assert answer(UNSAFE[name], mend=True).after is not None


def test_every_rule_that_mends_has_said_how_safe_that_is_and_keeps_to_it():
    seen = {}
    texts = [one.text for one in PLANTED] + [pair[0] + pair[1] for pair in PAIRS] + list(UNSAFE.values())
    for text in [*texts, *(example for rule in rules() for example in rule.wrong)]:
        for one in findings(text):
            if one.fixable:
                seen.setdefault(one.code, set()).add("unsafe" if one.unsafe else "safe")
    said = {rule.code: rule.fix for rule in rules() if rule.fix}
    assert seen == {code: {"safe", "unsafe"} if fix == "some safe" else {fix} for code, fix in said.items()}
    assert all(rule.why.endswith(".") for rule in rules() if rule.fix)
