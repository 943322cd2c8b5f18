"""Scripts as people write them, with nothing wrong in them: nothing is said."""

from __future__ import annotations

import os
import pathlib

import pytest

from npu_conformance.files import resources
from npu_conformance.lint.running import files_of
from tests.depth import at_night
from tests.lint.planted import SESSION, STAR
from tests.lint.reading import codes, findings

pytestmark = pytest.mark.oldest_at_night

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = files_of([os.path.join(resources.fixtures(), "scripts")])

QUIET = {
    "a session by every field": SESSION + """
custom_op.parameter_map["use_off_line"].b = True
custom_op.parameter_map['precision_mode'].s = tf.compat.as_bytes("allow_mix_precision")
custom_op.parameter_map["graph_run_mode"].i = 1
custom_op.parameter_map["hcom_parallel"].b = 1
custom_op.parameter_map["fusion_switch_file"].s = tf.compat.as_bytes(os.path.join(here, "fusion.cfg"))
""",
    "values that cannot be seen": SESSION + """
custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes(FLAGS.precision_mode)
custom_op.parameter_map["modify_mixlist"].s = tf.compat.as_bytes("./ops_info.json")
custom_op.parameter_map["iterations_per_loop"].i = args.loops
custom_op.parameter_map["mix_compile_mode"].b = args.mixed
custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes(f"/dump/{args.name}")
custom_op.parameter_map["enable_dump"].b = args.dump
""",
    "branches that exclude each other": SESSION + """
if newer:
    custom_op.parameter_map["precision_mode_v2"].s = b"mixed_float16"
else:
    custom_op.parameter_map["precision_mode"].s = b"allow_mix_precision"
""",
    "a prerequisite in a branch": SESSION + """
if dump:
    custom_op.parameter_map["enable_dump"].b = True
    custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/dump")
custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("all")
""",
    "a config for each round of a loop": STAR + """
for device in (0, 1, 7):
    config = npu_config_proto()
    config.graph_options.rewrite_options.custom_optimizers[0].parameter_map["session_device_id"].i = device
    sessions.append(tf.Session(config=config))
""",
    "another optimizer": SESSION + """
other = config.graph_options.rewrite_options.custom_optimizers.add()
other.name = "TensorRTOptimizer"
other.parameter_map["minimum_segment_size"].i = 3
other.parameter_map["precision_mode"].s = b"FP32"
""",
    "keys that cannot be seen": SESSION + """
for key, value in options.items():
    custom_op.parameter_map[key].s = tf.compat.as_bytes(value)
custom_op.parameter_map["enable_%s" % what].b = True
custom_op.parameter_map[f"{kind}_mode"].s = value
custom_op.parameter_map["in_out_pair"].s = tf.compat.as_bytes(str(pairs))
""",
    "a loop that tells types apart": SESSION + """
options = {"precision_mode": "allow_mix_precision", "graph_run_mode": 0, "use_off_line": True}
for key, value in options.items():
    if isinstance(value, bool):
        custom_op.parameter_map[key].b = value
    elif isinstance(value, int):
        custom_op.parameter_map[key].i = value
    else:
        custom_op.parameter_map[key].s = tf.compat.as_bytes(value)
""",
    "an entry handed to a function": STAR + """
def set_up(config, mode):
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = 'NpuOptimizer'
    more(custom_op)
    custom_op.parameter_map["in_out_pair"].s = tf.compat.as_bytes("[[['a'], ['b']]]")
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes(mode)
    return config
set_up(a, "force_fp32")
set_up(b, "allow_mix_precision")
""",
    "an entry of an object": STAR + """
class Trainer(object):
    def __init__(self):
        self.config = tf.ConfigProto()
        self.custom_op = self.config.graph_options.rewrite_options.custom_optimizers.add()
        self.custom_op.name = "NpuOptimizer"
    def options(self):
        self.custom_op.parameter_map["use_off_line"].b = True
        self.custom_op.parameter_map["modify_mixlist"].s = tf.compat.as_bytes("a.json")
""",
    "an entry named by a constant": STAR + """
NAME = "NpuOptimizer"
config = tf.ConfigProto()
op = config.graph_options.rewrite_options.custom_optimizers.add()
op.name = NAME
op.parameter_map["use_off_line"].b = True
""",
    "an import that may fail": """
try:
    from npu_bridge.npu_init import *
    from npu_bridge.estimator.npu.npu_newest import NPUEverything
except ImportError:
    NPUEverything = None
if NPUEverything is not None:
    NPUEverything().run()
""",
    "one of two imports": """
import tensorflow as tf
try:
    from npu_bridge.estimator.npu_ops import new_dropout as dropout
except (ImportError, AttributeError):
    from npu_bridge.estimator.npu_ops import dropout
y = dropout(x, 0.5)
""",
    "names of the script's own": STAR + """
def npu_confg_proto():
    return None
class NPUConfig(object):
    pass
npu_confg = npu_confg_proto()
config = NPUConfig()
def train(npu_conf, hooks):
    global npu_sess
    npu_sess = None
    return [npu_conf for npu_conf in hooks]
""",
    "a name of the adapter that is shadowed": STAR + """
import util
util.anything()
class NPURunConfig(dict):
    pass
c = NPURunConfig(whatever=1)
def f(npu_ops):
    return npu_ops.frobnicate()
""",
    "undefined names that are nobody's": STAR + """
print(inputs, input_fn, session_conf, configs, opt, npu)
""",
    "other star imports": """
from npu_bridge.npu_init import *
from somewhere import *
npu_helper(npu_run_confg)
""",
    "the names that the star import gives": STAR + """
print(os.getenv("RANK_ID"), tf.__version__, RewriterConfig.OFF)
sess = session.Session()
proto = config_pb2.ConfigProto()
mode = rewriter_config_pb2.RewriterConfig.OFF
y = npu_unary_ops.gelu(npu_ops.dropout(x, keep_prob=0.5))
print(get_rank_size(), get_rank_id(), get_local_rank_id())
""",
    "Estimators": STAR + """
session_config = tf.ConfigProto(allow_soft_placement=True)
config = NPURunConfig(session_config=session_config, model_dir=FLAGS.model_dir, save_checkpoints_steps=FLAGS.steps,
                      iterations_per_loop=FLAGS.loops, mix_compile_mode=FLAGS.mixed, precision_mode=FLAGS.mode,
                      modify_mixlist="ops.json", dump_config=DumpConfig(enable_dump=FLAGS.dump, dump_path="/dump"))
estimator = NPUEstimator(model_fn=f, config=config, params={})
other = tf.estimator.Estimator(f, config=npu_run_config_init(run_config=rc))
more = NPURunConfig(**kwargs)
""",
    "scopes": STAR + """
with npu_scope.without_npu_compile_scope():
    y = tf.add(x, 1.0)
with keep_dtype_scope() as scope, tf.name_scope("a"):
    pass
scope = npu_scope.keep_dtype_scope()
with scope:
    pass
@npu_scope.keep_dtype_scope()
def f():
    pass
with ExitStack() as stack:
    stack.enter_context(without_npu_compile_scope())
""",
    "the hccl packages": """
from hccl.manage.api import get_rank_size, get_rank_id, create_group
from hccl.split.api import set_split_strategy_by_idx
from npu_bridge.hccl import hccl_ops
create_group("g", 1, [0])
set_split_strategy_by_idx([8, 56])
g = hccl_ops.allreduce(t, "sum", fusion=1, fusion_id=-1)
""",
    "the way of TensorFlow 2": """
import npu_device
from npu_device.compat.v1.npu_init import *
npu_device.compat.enable_v1()
c = npu_config_proto(config_proto=tf.compat.v1.ConfigProto())
""",
    "more ways of TensorFlow 2": """
import npu_device as npu
from npu_device.compat.v1.npu_init import RewriterConfig
from npu_device.compat.v1.hccl import hccl_ops
from npu_device.compat.v1.estimator import npu_ops
from npu_device.compat.utils import SessionConfigBuilder
npu.compat.enable_v1()
npu.npu_device.set_device_sat_mode(1)
builder = npu.compat.v1.SessionConfigBuilder()
with npu.keep_dtype_scope():
    y = npu.ops.gelu(npu_ops.dropout(x, 0.5))
""",
    "names that a package passes on": """
import npu_bridge
from npu_bridge import npu_close, hccl_ops
from npu_bridge.estimator.npu.npu_hook import NPUShutDownHook
npu_bridge.npu_estimator.NPUEstimator(f)
npu_bridge.helper.get_gen_ops()
from npu_bridge.tf_adapter import PluginInit
""",
    "words of the script's own that the adapter has somewhere": STAR + """
print(Config, reduce, AdamOptimizer, JobInfo, dequeue, version)
""",
    "an attribute that is set first": STAR + """
npu_ops.my_dropout = lambda x: x
y = npu_ops.my_dropout(x)
if hasattr(npu_ops, "newest"):
    try:
        npu_ops.newest()
    except AttributeError:
        pass
""",
    "a package of the script's own of that name": """
from .npu_bridge import anything
from . import npu_init
anything.at_all()
""",
    "both values of a condition": SESSION + """
mode = "allow_mix_precision"
if small:
    mode = "force_fp32"
custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes(mode)
custom_op.parameter_map["mix_compile_mode"].b = True if mixed else False
""",
    "a setting twice in two branches": SESSION + """
custom_op.parameter_map["use_off_line"].b = True
if debug:
    custom_op.parameter_map["use_off_line"].b = False
""",
    "ranges appended one by one": SESSION + """
custom_op.parameter_map["mix_compile_mode"].b = True
custom_op.parameter_map["graph_run_mode"].i = 0
pairs = []
pairs.append([["a"], ["b"]])
custom_op.parameter_map["in_out_pair"].s = tf.compat.as_bytes(str(pairs))
""",
    "configurations that are used somewhere": SESSION + """
custom_op.parameter_map["use_off_line"].b = True
session = tf.Session(config=config)
class Trainer(object):
    def config(self):
        conf = tf.ConfigProto()
        op = conf.graph_options.rewrite_options.custom_optimizers.add()
        op.name = "NpuOptimizer"
        return conf
    def session(self, given):
        op = given.graph_options.rewrite_options.custom_optimizers.add()
        op.name = "NpuOptimizer"
        self.conf = tf.ConfigProto()
        op = self.conf.graph_options.rewrite_options.custom_optimizers.add()
        op.name = "NpuOptimizer"
        other = tf.ConfigProto()
        op = other.graph_options.rewrite_options.custom_optimizers.add()
        op.name = "NpuOptimizer"
        text = other.SerializeToString()
        return lambda: tf.Session(config=given), text
""",
    "a bool as an earlier adapter had it": SESSION + """
custom_op.parameter_map["jit_compile"].b = False
""",
    "parameter maps of others": """
params.parameter_map["learning_rate"].value = 3
self.parameter_map[key] = value
map = estimator.parameter_map
map["x"].b = True
""",
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET, ids=lambda name: name.replace(" ", "-"))
def test_nothing_is_said_of_a_script_in_order(name):
    assert codes(QUIET[name]) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=[os.path.basename(path) for path in SCRIPTS])
def test_nothing_is_said_of_the_scripts_of_the_fixtures(path):
    with open(path, "rb") as stream:
        assert [str(one) for one in findings(stream.read(), path=path)] == []


@pytest.mark.parametrize("folder", ["impl", at_night("conformance"), at_night("tests"), "benchmarks"])
def test_this_projects_own_files_are_read_without_an_error(folder):
    files = files_of([str(ROOT / folder)]) if (ROOT / folder).is_dir() else []
    for path in files:
        if "lint" not in pathlib.Path(path).parts:
            with open(path, "rb") as stream:
                data = stream.read()
            assert [str(one) for one in findings(data, path=path) if one.code.startswith("E0")] == []


def test_a_copy_of_the_adapter_in_the_project_is_not_held_to_the_table(tmp_path):
    package = tmp_path / "npu_bridge" / "estimator"
    package.mkdir(parents=True)
    (tmp_path / "npu_bridge" / "__init__.py").write_text("", encoding="utf-8")
    text = "from npu_bridge.estimator import npu_everything\nimport npu_bridge.anything\nnpu_everything.run()\n"
    for path in (tmp_path / "train.py", package / "inner.py"):
        assert codes(text, path=str(path)) == []
    assert codes(text) != []
