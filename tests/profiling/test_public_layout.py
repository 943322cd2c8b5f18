"""Profiles are read by readers that know the public layout alone: msprof's columns, and the Trace Event Format.

The columns are written here a second time, from docs/en/user_guide/profile_data_file_references.md of msprof and the
headers of CANN 8.1 for the training product: nothing of this is asked of the code that writes the files.
"""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings

from npu_reference import profiling
from npu_reference.graphs import GraphBuilder
from npu_reference.options.grammars.profiling import ProfilingOptions
from tests.timing.networks import mlp, nets, step

ALL = ProfilingOptions("/out", True, True, True, "", "", "PipeUtilization")

#: Of the simulated device; every table of ours ends with it.
OURS = ["Simulated"]
HEADS = {
    "op_summary": (
        "Device_id,Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,OP State,Task Type,"
        "Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,HF32 Eligible,Input Shapes,"
        "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,aicore_time(us),total_cycles"
    ),
    "op_statistic": (
        "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    ),
    "task_time": "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
    "step_trace": (
        "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
        "Iteration Refresh(us),Data Aug Bound(us),Model ID"
    ),
    "aicpu": (
        "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),"
        "Total_time(us),Stream ID,Task ID"
    ),
    "communication_statistic": (
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    ),
}  # fmt: skip
METRICS = {
    "PipeUtilization": (
        "vec_time(us),vec_ratio,mac_time(us),mac_ratio,scalar_time(us),scalar_ratio,mte1_time(us),mte1_ratio,"
        "mte2_time(us),mte2_ratio,mte3_time(us),mte3_ratio,icache_miss_rate,memory_bound,cube_utilization(%)"
    ),
    "ArithmeticUtilization": (
        "mac_fp16_ratio,mac_int8_ratio,vec_fp32_ratio,vec_fp16_ratio,vec_int32_ratio,vec_misc_ratio,cube_fops,vector_fops"
    ),
    "Memory": (
        "ub_read_bw(GB/s),ub_write_bw(GB/s),l1_read_bw(GB/s),l1_write_bw(GB/s),l2_read_bw(GB/s),l2_write_bw(GB/s),"
        "main_mem_read_bw(GB/s),main_mem_write_bw(GB/s)"
    ),
    "MemoryL0": (
        "l0a_read_bw(GB/s),l0a_write_bw(GB/s),l0b_read_bw(GB/s),l0b_write_bw(GB/s),l0c_read_bw(GB/s),"
        "l0c_write_bw(GB/s),l0c_read_bw_cube(GB/s),l0c_write_bw_cube(GB/s)"
    ),
    "ResourceConflictRatio": (
        "vec_bankgroup_cflt_ratio,vec_bank_cflt_ratio,vec_resc_cflt_ratio,mte1_iq_full_ratio,mte2_iq_full_ratio,"
        "mte3_iq_full_ratio,cube_iq_full_ratio,vec_iq_full_ratio,iq_full_ratio"
    ),
}  # fmt: skip
DTYPES = {
    *("FLOAT", "FLOAT16", "DT_BF16", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32"),
    *("UINT64", "BOOL", "STRING", "COMPLEX64", "COMPLEX128", "RESOURCE", "DT_VARIANT"),
}
ROUNDED = 0.0011  # two numbers with three digits behind the point, and their difference


def tables(content):
    """Name of a table to its heads, and its rows as lists."""
    found = {}
    for path, data in content.items():
        if path.startswith("mindstudio_profiler_output/") and path.endswith(".csv"):
            heads, *rows = csv.reader(io.StringIO(data.decode("utf-8")))
            found[path.rpartition("/")[2].rpartition("_")[0]] = heads, rows
    return found


def rows_of(content, table):
    heads, rows = tables(content)[table]
    return [dict(zip(heads, row)) for row in rows]


def trace_of(content):
    return json.loads(next(data for path, data in content.items() if "/msprof_" in path))


def conv_and_mean():
    """A convolution whose result is reshaped, multiplied by itself and summed, and an operator of the AI CPU."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2, 8, 8, 16])
    kernel = g.placeholder("w", "float32", [3, 3, 16, 32])
    conv = g.op("Conv2D", "conv", [x, kernel], strides=[1, 1, 1, 1], padding="SAME")
    flat = g.op("Reshape", "flat", [conv, g.const("sizes", [128, 32], "int32")])
    square = g.op("MatMul", "square", [flat, flat], transpose_a=True)
    g.op("MatrixInverse", "inverse", [square])
    g.op("Neg", "scalar", [g.placeholder("s", "float32", [])])
    return g.build(), ["x:0", "w:0", "s:0"], ["inverse:0", "scalar:0"]


def test_every_table_has_the_profilers_columns_in_its_order():
    content = profiling.files([profiling.ProfiledRun(step(*conv_and_mean()))], ALL)
    found = tables(content)
    assert {"op_summary", "op_statistic", "task_time", "step_trace", "aicpu"} <= set(found) <= set(HEADS)
    for name, (heads, rows) in found.items():
        more = METRICS["PipeUtilization"].split(",") if name == "op_summary" else []
        assert heads == HEADS[name].split(",") + more + OURS, name
        assert all(len(row) == len(heads) for row in rows)


@pytest.mark.parametrize("group", METRICS)
def test_every_group_of_metrics_has_its_columns_in_order_and_its_shares_and_cycles_agree(group):
    made = step(*conv_and_mean())
    content = profiling.files([profiling.ProfiledRun(made)], ALL._replace(aic_metrics=group))
    heads, _ = tables(content)["op_summary"]
    assert heads == HEADS["op_summary"].split(",") + METRICS[group].split(",") + OURS
    clock = made.compiled.device.clock  # MHz: cycles a microsecond
    for row in rows_of(content, "op_summary"):
        cells = [row[name] for name in heads[heads.index("aicore_time(us)") : -1]]
        if row["Task Type"] != "AI_CORE":
            assert set(cells) == {"N/A"}
            continue
        time, cycles = float(row["aicore_time(us)"]), int(row["total_cycles"])
        cores = int(row["Block Dim"])
        assert cycles == pytest.approx(time * clock * cores, abs=clock * ROUNDED * cores)
        for name in METRICS[group].split(","):
            if name.endswith("_time(us)") and row[name] != "N/A":
                share = float(row[name.replace("_time(us)", "_ratio")])
                assert float(row[name]) == pytest.approx(share * time, abs=ROUNDED + time * 0.0006)
        if group == "PipeUtilization" and row["memory_bound"] != "N/A":
            works = max(float(row["mac_ratio"]), float(row["vec_ratio"]))
            told = float(row["memory_bound"])
            assert works < 0.1 or told == pytest.approx(float(row["mte2_ratio"]) / works, rel=0.02)
        if group == "ResourceConflictRatio":
            parts = [float(row[name]) for name in METRICS[group].split(",")[3:8]]
            assert float(row["iq_full_ratio"]) == pytest.approx(sum(parts))


def test_shapes_and_dtypes_are_those_that_were_computed_with():
    made = step(*conv_and_mean(), precision_mode="force_fp16")
    rows = {row["Op Name"]: row for row in rows_of(profiling.files([profiling.ProfiledRun(made)], ALL), "op_summary")}

    def told(name):
        return tuple(
            rows[name][f"{side} {what}"] for side in ("Input", "Output") for what in ("Shapes", "Data Types", "Formats")
        )

    assert told("conv") == (
        "2,8,8,16;3,3,16,32", "FLOAT16;FLOAT16", "NHWC;NHWC", "2,8,8,32", "FLOAT16", "NHWC",
    )  # fmt: skip
    # The tensor is the convolution's, as the Reshape between them has it, and read twice.
    assert told("square")[:3] == ("128,32;128,32", "FLOAT16;FLOAT16", "ND;ND")
    assert told("square")[3] == "32,32"
    assert told("x:0/cast_float16") == ("2,8,8,16", "FLOAT", "ND", "2,8,8,16", "FLOAT16", "ND")
    assert told("scalar:0/cast_float32") == ("", "FLOAT", "ND") * 2  # casts and all are one kernel; no dimensions
    assert rows["inverse"]["Task Type"] == "AI_CPU" and told("inverse")[1] == "FLOAT"


def test_a_fused_kernel_reads_what_comes_from_outside_and_a_variable_by_its_handle():
    g = GraphBuilder()
    handle = g.op("VarHandleOp", "v", [], dtype="float32", shape=[16, 4])
    read = g.op("ReadVariableOp", "read", [handle], dtype="float32")
    product = g.op("MatMul", "product", [g.placeholder("x", "float32", [8, 16]), read])
    g.op("BiasAdd", "sum", [product, g.placeholder("b", "float32", [4])])
    g.op("AssignSubVariableOp", "update", [handle, g.placeholder("d", "float32", [16, 4])], dtype="float32")
    made = step(g.build(), ["x:0", "b:0", "d:0"], ["sum:0"], precision_mode="must_keep_origin_dtype")
    rows = {row["Op Name"]: row for row in rows_of(profiling.files([profiling.ProfiledRun(made)], ALL), "op_summary")}
    fused = next(row for name, row in rows.items() if name.startswith("product"))
    assert fused["Input Shapes"] == "8,16;16,4;4" and fused["Output Shapes"] == "8,4"
    assert set(fused["Input Data Types"].split(";")) <= DTYPES


@given(nets())
@settings(max_examples=15, deadline=None)
def test_sums_shares_and_moments_of_tables_agree(net):
    made = step(*net)
    content = profiling.files([profiling.ProfiledRun(made), profiling.ProfiledRun(made, made.step, 2, "other")], ALL)
    found = tables(content)
    if "op_summary" not in found:
        return
    summary = rows_of(content, "op_summary")
    starts = [float(row["Task Start Time(us)"]) for row in summary]
    ends = [start + float(row["Task Duration(us)"]) for start, row in zip(starts, summary)]
    assert starts == sorted(starts)
    for before, start, row in zip([starts[0], *ends], starts, summary):  # from the end of the task before
        assert float(row["Task Wait Time(us)"]) == pytest.approx(max(start - before, 0), abs=2 * ROUNDED)
    for row in summary:
        kinds = [row[f"{side} Data Types"] for side in ("Input", "Output")]
        assert {kind for kind in ";".join(kinds).split(";") if kind} <= DTYPES
        for side in ("Input", "Output"):
            parts = [row[f"{side} {what}"].count(";") for what in ("Shapes", "Data Types", "Formats")]
            assert len(set(parts)) == 1 and "N/A" not in row[f"{side} Shapes"]
    for model in ("graph", "other"):
        rows = [row for row in rows_of(content, "op_statistic") if row["Model Name"] == model]
        assert sum(float(row["Ratio(%)"]) for row in rows) == pytest.approx(100, abs=0.01) or not any(
            float(row["Total Time(us)"]) for row in rows
        )
        for row in rows:
            times = [
                float(one["Task Duration(us)"]) for one in summary
                if (one["Model Name"], one["OP Type"], one["Task Type"]) == (model, row["OP Type"], row["Core Type"])
            ]  # fmt: skip
            assert int(row["Count"]) == len(times)
            assert float(row["Total Time(us)"]) == pytest.approx(sum(times), abs=ROUNDED * len(times))
            assert (float(row["Min Time(us)"]), float(row["Max Time(us)"])) == (min(times), max(times))
    for row in rows_of(content, "task_time"):
        assert row["kernel_type"] in ("KERNEL_AICORE", "KERNEL_AICPU", "HCCL")
        lasts = float(row["task_stop(us)"]) - float(row["task_start(us)"])
        assert float(row["task_time(us)"]) == pytest.approx(lasts, abs=ROUNDED)
    steps = rows_of(content, "step_trace")
    assert steps[0]["Data Aug Bound(us)"] == "N/A"
    for before, row in zip(steps, steps[1:]):
        ended, ends = float(before["Iteration End(us)"]), float(row["Iteration End(us)"])
        assert float(row["Iteration Time(us)"]) == pytest.approx(ends - ended, abs=ROUNDED)
        if row["FP Start(us)"] != "N/A":
            bound = max(float(row["FP Start(us)"]) - ended, 0)
            assert float(row["Data Aug Bound(us)"]) == pytest.approx(bound, abs=ROUNDED)


def is_chrome_trace(events):
    """By the Trace Event Format, and what Perfetto asks beyond it: slices of a thread are apart, or one in another."""
    threads = {}
    for event in events:
        assert event["ph"] in ("M", "X", "C") and isinstance(event["name"], str) and event["name"]
        assert all(type(event[key]) is int and 0 <= event[key] < 1 << 31 for key in ("pid", "tid"))
        if event["ph"] == "M":
            key = {"process_sort_index": "sort_index", "process_labels": "labels"}.get(event["name"], "name")
            assert key in event["args"]
        else:
            assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["dur"], (int, float)) and event["dur"] >= 0
            threads.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in threads.values():
        open_ends = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start + 1e-6:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 1e-6, (start, end, open_ends)
            open_ends.append(end)
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    assert {event["pid"] for event in events} == named
    return True


@given(nets())
@settings(max_examples=15, deadline=None)
def test_the_timeline_follows_the_trace_event_format(net):
    made = step(*net, iterations_per_loop=3, surface="runconfig")
    content = profiling.files([profiling.ProfiledRun(made), profiling.ProfiledRun(made, made.step * 3)], ALL)
    events = trace_of(content)
    assert is_chrome_trace(events)
    layers = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    assert list(layers) == ["CANN", "Ascend Hardware", "Communication", "Step Trace"]
    slices = [event for event in events if event["ph"] == "X"]
    assert [event["ts"] for event in slices] == sorted(event["ts"] for event in slices)
    computed = [event for event in slices if "Task Type" in event["args"]]
    told = rows_of(content, "op_summary") if "op_summary" in tables(content) else []
    assert sorted((event["name"], event["ts"]) for event in computed) == sorted(
        (row["Op Name"], float(row["Task Start Time(us)"])) for row in told
    )
    iterations = [event for event in slices if event["pid"] == layers["Step Trace"]]
    assert [event["args"]["Iteration Time(us)"] for event in iterations] == [
        float(row["Iteration Time(us)"]) for row in rows_of(content, "step_trace")
    ]


def test_a_tree_lies_as_the_profilers_does():
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL, device=3)
    assert {path.partition("/")[0] for path in content} == {"host", "device_3", "mindstudio_profiler_output"}
    assert {row["Device_id"] for row in rows_of(content, "op_summary")} == {"3"}
