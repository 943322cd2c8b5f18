"""What ``--fix`` writes, pair by pair, and what it leaves as it was."""

# ruff: noqa: E501  pairs in rows
from __future__ import annotations

import pytest

from tests.lint.planted import SESSION, STAR
from tests.lint.reading import answer, mended

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
