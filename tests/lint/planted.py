"""Mistakes as they are made in scripts, each with the line and the code under which it is found."""

# ruff: noqa: E501  a row a mistake
from __future__ import annotations

from typing import List, NamedTuple

STAR = "from npu_bridge.npu_init import *\n"

#: A session's entry, as the documents make it; options follow.
SESSION = STAR + (
    "import tensorflow as tf\n"
    "config = tf.ConfigProto()\n"
    "custom_op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
    'custom_op.name = "NpuOptimizer"\n'
    "config.graph_options.rewrite_options.remapping = RewriterConfig.OFF\n"
)
SESSION_LINES = SESSION.count("\n")


class Planted(NamedTuple):
    """``text`` is a whole script; ``lines`` are where ``code`` is found, and nothing else is found anywhere."""

    name: str
    code: str
    text: str
    lines: tuple
    edition: str = "current"


def session(name: str, code: str, options: str, *lines: int, edition: str = "current") -> Planted:
    """Options of a session; lines count from the first of them."""
    found = tuple(line + SESSION_LINES for line in (lines or (1,)))
    return Planted(name, code, SESSION + options, found, edition)


def after_star(name: str, code: str, text: str, *lines: int, edition: str = "current") -> Planted:
    """A script after the star import; lines count from the line behind it."""
    return Planted(name, code, STAR + text, tuple(line + 1 for line in (lines or (1,))), edition)


def plain(name: str, code: str, text: str, *lines: int) -> Planted:
    """A whole script."""
    return Planted(name, code, text, lines or (1,))


PLANTED: List[Planted] = [
    # keys
    session("a key without its last letter", "W101", 'custom_op.parameter_map["precision_mod"].s = b"allow_mix_precision"\n'),
    session("a key with two letters swapped", "W101", 'custom_op.parameter_map["mix_complie_mode"].b = True\n'),
    session("a key in another case", "W101", 'custom_op.parameter_map["Use_Off_Line"].b = True\n'),
    session("a key that resembles nothing", "W101", 'custom_op.parameter_map["frobnicate"].b = True\n'),
    session("a key through a variable", "W101", 'key = "grap_run_mode"\ncustom_op.parameter_map[key].i = 0\n', 2),
    session("a key of bytes", "W101", "custom_op.parameter_map['dump_pth'].s = tf.compat.as_bytes('/d')\n"),
    session(
        "a key in a loop over a dict",
        "W101",
        'for k, v in {"precision_mode": "allow_mix_precision",\n'
        '             "op_select_impl": "high_precision"}.items():\n'
        "    custom_op.parameter_map[k].s = tf.compat.as_bytes(v)\n",
        2,
    ),
    session(
        "a key in a loop over pairs by name",
        "W101",
        'pairs = [("mix_compile_mode", True), ("use_of_line", True)]\n'
        "for k, v in pairs:\n"
        "    custom_op.parameter_map[k].b = v\n",
    ),
    session(
        "a key handed to a function",
        "W101",
        "def put(op, name, value):\n"
        "    op.parameter_map[name].s = tf.compat.as_bytes(value)\n"
        'put(custom_op, "precision_mode", "allow_mix_precision")\n'
        'put(custom_op, "buffer_optimise", "l2_optimize")\n',
        4,
    ),
    session("a key of an alias of the map", "W101", 'pm = custom_op.parameter_map\npm["iteration_per_loop"].i = 1\n', 2),
    session("a key by setattr", "W101", 'setattr(custom_op.parameter_map["mix_compile"], "b", True)\n'),
    session("a key of a numbered loop", "W101", 'for n, k in enumerate(["use_off_line", "hcom_paralel"]):\n    custom_op.parameter_map[k].b = True\n'),
    session("a key of the first entry", "W101", 'config.graph_options.rewrite_options.custom_optimizers[0].parameter_map["use_of_line"].b = True\n'),
    session("a key of every entry", "W101", 'for entry in config.graph_options.rewrite_options.custom_optimizers:\n    entry.parameter_map["mix_compile_mod"].b = True\n', 2),
    session("a field in a loop with setattr", "E102", 'for k, f, v in [("use_off_line", "b", True), ("iterations_per_loop", "b", 1)]:\n    setattr(custom_op.parameter_map[k], f, v)\n'),
    session("a key whose value cannot be seen", "W101", 'custom_op.parameter_map["precision_mod"].s = tf.compat.as_bytes(FLAGS.mode)\n'),
    session("an option on its way out whose value cannot be seen", "W104", 'custom_op.parameter_map["variable_format_optimize"].b = FLAGS.format\n'),
    # fields
    session("an int as text", "E102", 'custom_op.parameter_map["graph_run_mode"].s = tf.compat.as_bytes("0")\n'),
    session("a bool in the int field", "E102", 'custom_op.parameter_map["mix_compile_mode"].i = 1\n'),
    session("a text in the bool field", "E102", 'custom_op.parameter_map["precision_mode"].b = True\n'),
    session("an unseen value in the wrong field", "E102", 'custom_op.parameter_map["precision_mode"].i = int(x)\n'),
    session("a float field", "E102", 'custom_op.parameter_map["iterations_per_loop"].f = 10.0\n'),
    session("a field that is none", "E102", 'custom_op.parameter_map["mix_compile_mode"].bool = True\n'),
    session("no field at all", "E102", 'custom_op.parameter_map["mix_compile_mode"] = True\n'),
    session("a field by CopyFrom", "E102",
            'custom_op.parameter_map["use_off_line"].CopyFrom(tf.AttrValue(i=1))\n'),
    session(
        "an entry behind a name",
        "E102",
        'entry = custom_op.parameter_map["use_off_line"]\nentry.s = b"True"\n',
        1,
    ),
    # types
    session("a text without bytes", "E103", 'custom_op.parameter_map["precision_mode"].s = "allow_mix_precision"\n'),
    session("a text of a variable", "E103", 'mode = "allow_mix_precision"\ncustom_op.parameter_map["precision_mode"].s = mode\n', 2),
    session("a word for a bool", "E104", 'custom_op.parameter_map["mix_compile_mode"].b = "True"\n'),
    after_star("a text for an int argument", "E104", 'config = NPURunConfig(iterations_per_loop="10")\n'),
    after_star("an int for a bool argument", "E104", "config = NPURunConfig(mix_compile_mode=1)\n"),
    after_star("a dict for an object", "E104", 'config = NPURunConfig(dump_config="on")\n'),
    # values
    session("a mode nobody has", "E105", 'custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("mixed")\n'),
    session("a misspelt mode", "E105", 'custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mixed_precision")\n'),
    session("a mode in capitals", "E105", 'custom_op.parameter_map["precision_mode"].s = b"ALLOW_MIX_PRECISION"\n'),
    session("a mode through a variable", "E105", 'mode = "alow_mix_precision"\ncustom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes(mode)\n', 2),
    session("one of two modes", "E105", 'custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision" if fast else "fp32")\n'),
    session("a number out of range", "E105", 'custom_op.parameter_map["graph_run_mode"].i = 2\n'),
    session("a computed number", "E105", 'custom_op.parameter_map["iterations_per_loop"].i = 3 - 3\n'),
    after_star("an argument out of range", "E105", "config = NPURunConfig(iterations_per_loop=-1)\n"),
    after_star("an argument's misspelt word", "E105", 'config = NPURunConfig(precision_mode_v2="mixed_fp16")\n'),
    after_star("a placement in small letters", "E105", 'config = NPURunConfig(variable_placement="device")\n'),
    session("a branch with a wrong value", "E105", 'if big:\n    custom_op.parameter_map["buffer_optimize"].s = b"on"\n', 2),
    after_star("a dump mode that is none", "E105", 'dump = DumpConfig(enable_dump=True, dump_path="/d", dump_mode="both")\n'),
    after_star("a memory policy out of range", "E105", "memory = MemoryConfig(static_memory_policy=9)\n"),
    after_star("an argument by a dict", "E105", 'options = {"precision_mode": "fp17"}\nconfig = NPURunConfig(**options)\n'),
    # grammars
    session("a dump step with commas", "E106", 'custom_op.parameter_map["enable_dump"].b = True\ncustom_op.parameter_map["dump_path"].s = b"/d"\ncustom_op.parameter_map["dump_step"].s = b"0,5"\n', 3),
    after_star("parallelism with equals signs", "E106", 'config = NPURunConfig(stream_max_parallel_num="DNN_VM_AICPU=10")\n'),
    session("ranges that are no list", "E106", 'custom_op.parameter_map["mix_compile_mode"].b = True\ncustom_op.parameter_map["graph_run_mode"].i = 0\ncustom_op.parameter_map["in_out_pair"].s = b"a;b"\n', 3),
    after_star("profiling that is no JSON", "E106", "p = ProfilingConfig(enable_profiling=True, profiling_options=\"task_trace:on\")\n"),
    # conflicts
    session("loops in mixed computing", "E107", 'custom_op.parameter_map["mix_compile_mode"].b = True\ncustom_op.parameter_map["iterations_per_loop"].i = 10\n', 2),
    after_star("both forms of precision", "E107", 'config = NPURunConfig(precision_mode="allow_mix_precision", precision_mode_v2="mixed_float16")\n'),
    session("ranges without mixed computing", "E107", 'custom_op.parameter_map["graph_run_mode"].i = 0\ncustom_op.parameter_map["in_out_pair"].s = tf.compat.as_bytes(str([[["a"], ["b"]]]))\n', 2),
    session("a dump without a path", "E107", 'custom_op.parameter_map["enable_dump"].b = True\n'),
    after_star("a host placement alone", "E107", 'config = NPURunConfig(variable_placement="Host")\n'),
    session(
        "a conflict within one branch",
        "E107",
        'if fast:\n    custom_op.parameter_map["mix_compile_mode"].b = True\n    custom_op.parameter_map["iterations_per_loop"].i = 10\n',
        3,
    ),
    after_star("a dump object without a path", "E107", "config = NPURunConfig(dump_config=DumpConfig(enable_dump=True))\n"),
    # editions and surfaces
    session("a mode of the current edition", "E109", 'custom_op.parameter_map["precision_mode"].s = b"allow_mix_precision_fp16"\n', edition="legacy"),
    session("an option of RunConfig alone", "W102", 'custom_op.parameter_map["memory_config"].s = b"x"\n'),
    session("an option not supported", "W103", 'custom_op.parameter_map["enable_dump_debug"].b = True\n'),
    after_star("an option of the current edition", "W103", "config = NPURunConfig(deterministic=1)\n", edition="legacy"),
    session("an option of NPURunConfig in the legacy edition", "W102", 'custom_op.parameter_map["jit_compile"].s = b"auto"\n', edition="legacy"),
    session("an option on its way out", "W104", 'custom_op.parameter_map["variable_format_optimize"].b = True\n'),
    after_star("an argument on its way out", "W104", 'config = NPURunConfig(op_select_implmode="high_precision")\n'),
    session("a value given twice", "W105", 'custom_op.parameter_map["mix_compile_mode"].b = True\ncustom_op.parameter_map["mix_compile_mode"].b = False\n', 2),
    session("a step without a dump", "W106", 'custom_op.parameter_map["dump_mode"].s = b"all"\n'),
    session("memory that is not limited any more", "W106", 'custom_op.parameter_map["graph_memory_max_size"].s = b"1024"\n'),
    # classes
    after_star("a misspelt argument", "E101", 'config = NPURunConfig(precision_mod="allow_mix_precision")\n'),
    after_star("a session option as argument", "E101", "config = NPURunConfig(use_off_line=True)\n"),
    after_star("a misspelt argument of an object", "E101", 'dump = DumpConfig(enable_dmp=True, dump_path="/d")\n'),
    Planted("a class under another name", "E101", "from npu_bridge.estimator.npu.npu_config import NPURunConfig as RC\nconfig = RC(mix_compile=True)\n", (2,)),
    # functions
    after_star("a misspelt argument of a function", "E205", "m = FixedLossScaleManager(loss_scal=128)\n"),
    after_star("an argument too many", "E205", 'with npu_scope.keep_dtype_scope("x"):\n    pass\n'),
    after_star("an argument too few", "E205", "o = NPULossScaleOptimizer(opt)\n"),
    after_star("an option of a function", "E104", 'train = util.set_iteration_per_loop(sess, train, "10")\n'),
    after_star("an option of a function out of range", "E105", "train = set_iteration_per_loop(sess, train, iterations_per_loop=0)\n"),
    # the entry
    Planted("a misspelt optimizer", "E110", SESSION.replace("NpuOptimizer", "NPUOptimizer"), (5,)),
    Planted("an optimizer without a name", "E110", SESSION.replace('custom_op.name = "NpuOptimizer"\n', 'custom_op.parameter_map["use_off_line"].b = True\n'), (4,)),
    session("a mixlist that is not there, without its mode", "E107", 'custom_op.parameter_map["modify_mixlist"].s = b"/nowhere/ops.json"\ncustom_op.parameter_map["precision_mode"].s = b"force_fp32"\n'),
    session("a configuration for nobody", "W107", 'custom_op.parameter_map["use_off_line"].b = True\nsess = tf.Session(config=npu_config_proto())\n', 2 - SESSION_LINES + 1),
    after_star("a configuration for nobody in a function", "W107", "def session():\n    conf = tf.ConfigProto()\n    conf.gpu_options.allow_growth = True\n    op = conf.graph_options.rewrite_options.custom_optimizers.add()\n    op.name = 'NpuOptimizer'\n    return tf.Session()\n", 2),
    # names
    after_star("a rate for keep_prob", "E205", "y = npu_ops.dropout(x, rate=0.1)\n"),
    after_star("a weight decay left out", "E205", "g = npu_ops.LARSV2(w, g)\n"),
    plain("an operator of the library", "W201", "from npu_bridge.estimator import npu_ops\na = npu_ops.gen_npu_ops.get_next(output_types=t)\n", 2),
    after_star("a misspelt function", "E202", "config = npu_confg_proto()\n"),
    after_star("a misspelt class", "E202", "optimizer = NPULossScaleOptimzer(opt, manager)\n"),
    after_star("a misspelt attribute", "E202", "y = npu_ops.dropot(x, 0.5)\n"),
    after_star("a misspelt scope", "E202", "with npu_scope.without_npu_complie_scope():\n    pass\n"),
    plain("a misspelt import", "E202", "from npu_bridge.estimator.npu.npu_config import NPURunConfg\n"),
    plain("a misspelt module", "E201", "from npu_bridge.npu_int import *\n"),
    plain("a module that is none", "E201", "import npu_bridge.estimator.npu.npu_everything\n"),
    plain("a module of a package", "E202", "from npu_bridge.estimator import npu_op\n"),
    plain("a name of another module", "E203", "from npu_bridge.estimator.npu.npu_config import NPUEstimator\n"),
    plain("a name of a module that is none", "E203", "from npu_bridge.npu_estimator import NPUEstimator\n"),
    plain("a name without its import", "E204", "import tensorflow as tf\nsess = tf.Session(config=npu_config_proto())\n", 2),
    plain("a class without its import", "E204", "from npu_bridge.estimator import npu_ops\nconfig = NPURunConfig(model_dir='m')\n", 2),
    after_star("a module without its import", "E204", "c = npu_config.ExperimentalConfig()\n"),
    plain("a refused operator", "W201", "from npu_bridge.hccl import hccl_ops\nx = hccl_ops.remote_read(y, data_type=d)\n", 2),
    plain("a refused name by import", "W201", "from npu_bridge.npu_cpu.npu_cpu_ops import embeddingrankid\nx = embeddingrankid(a, b)\n", 2),
    plain("an options object of TensorFlow 2", "W201", "import npu_device as npu\nnpu.global_options().precision_mode = 'x'\n", 2),
    plain("a function of the module of the device", "W201", "import npu_device\nnpu_device.npu_device.global_npu_ctx()\n", 2),
    plain("a collective of TensorFlow 2", "W201", "from npu_device.distribute.hccl import all_reduce\ng = all_reduce(g)\n", 2),
    plain("an operator of the CPU", "W201", "from npu_device.compat.v1.npu_cpu import npu_cpu_ops\nx = npu_cpu_ops.dequeue(1)\n", 2),
    plain("a misspelt name of TensorFlow 2", "E202", "import npu_device as npu\nnpu.opne().as_default()\n", 2),
    plain("a misspelt module of TensorFlow 2", "E201", "import npu_device.distributed.hccl\n"),
    plain("a name that was replaced", "W202", "from npu_bridge.estimator import npu_ops\ng = npu_ops.LARS(w, g, 0.1)\n", 2),
    # scopes
    after_star("a scope as a statement", "E301", "npu_scope.without_npu_compile_scope()\ny = tf.add(x, 1.0)\n"),
    after_star("a scope not called", "E302", "with npu_scope.keep_dtype_scope:\n    y = tf.add(x, 1.0)\n"),
    after_star("a scope as a bare decorator", "E302", "@without_npu_compile_scope\ndef f(x):\n    return x\n"),
    Planted("a scope without mixed computing", "W301", SESSION + "with npu_scope.without_npu_compile_scope():\n    y = tf.add(x, 1.0)\n", (7,)),
    # files
    plain("a print statement", "E001", "from npu_bridge.npu_init import *\nprint 'x'\n", 2),
    plain("a comma in except", "E001", "from npu_bridge.npu_init import *\ntry:\n    f()\nexcept Exception, e:\n    pass\n", 4),
]  # fmt: skip
