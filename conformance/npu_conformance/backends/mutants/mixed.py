"""Mutants of mixed computing: each breaks one ``mixed.*`` requirement."""

from __future__ import annotations

from typing import Any, List

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import (
    Answer,
    Params,
    ReferenceBackend,
    everything_on_host,
    merged,
    scoped_nodes,
    script_text,
    to_device,
    with_operators,
    with_values,
    without_notes,
    without_scope,
    without_scope_in_functions,
)
from npu_reference.errors import NpuError

__all__: List[str] = []


def _is_mixed(params: Params) -> bool:
    value = params["values"].get("mix_compile_mode")
    return bool(value.get("value") if isinstance(value, dict) else value)


def _because(answer: Answer, reason: str) -> List[str]:
    return [entry["node"] for entry in answer["host"] if entry.get("reason") == reason]


# What stays on the host


@mutant("py-func-on-device", "mixed.purpose.host_fallback")
class PyFuncOnDevice(ReferenceBackend):
    """Offloads py_func as if the device could call Python."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_operators(params, add=["PyFunc"]))


@mutant("full-offload-in-two", "mixed.default.full_offload")
class FullOffloadInTwo(ReferenceBackend):
    """Cuts the GEOP of full offload in two."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        if _is_mixed(params) or params["edition"] != "current" or len(answer["geops"]) != 1:
            return answer
        whole = answer["geops"][0]
        first = {**whole, "nodes": whole["nodes"][:1]}
        rest = {**whole, "name": whole["name"] + "_rest", "nodes": whole["nodes"][1:]}
        return {**answer, "geops": [first, rest] if rest["nodes"] else [first]}


@mutant("legacy-default-is-host", "mixed.zh.default_full_offload")
class LegacyDefaultIsHost(ReferenceBackend):
    """In the legacy edition offloads nothing unless an option is set."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return everything_on_host(answer) if params["edition"] == "legacy" and not params["values"] else answer


@mutant("tables-on-device", "mixed.supplement.selected_ops")
class TablesOnDevice(ReferenceBackend):
    """Offloads resource operators in mixed computing when the device has them."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return to_device(answer, _because(answer, "RESOURCE"))


@mutant("one-reason-for-all", "mixed.partition.identify_first")
class OneReasonForAll(ReferenceBackend):
    """Gives every operator on the host the same reason."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return {**answer, "host": [{**entry, "reason": "NOT_SUPPORTED"} for entry in answer["host"]]}


@mutant("missing-kernel-overlooked", "mixed.zh.not_offline_compilable")
class MissingKernelOverlooked(ReferenceBackend):
    """Offloads Cumsum although the device's operator list does not have it."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_operators(params, add=["Cumsum"]))


# How the graph is cut


@mutant("one-geop", "mixed.partition.geop_split")
class OneGeop(ReferenceBackend):
    """Makes one GEOP of all that is offloaded, whatever stands between."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return merged(answer, [range(len(answer["geops"]))]) if len(answer["geops"]) > 1 else answer


@mutant("merges-around-the-host", "mixed.partition.geop_acyclic")
class MergesAroundTheHost(ReferenceBackend):
    """Merges two GEOPs joined by an edge although a host operator stands between them as well."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        owner = {name: position for position, geop in enumerate(answer["geops"]) for name in geop["nodes"]}
        names = {geop["name"]: position for position, geop in enumerate(answer["geops"])}
        for border in answer["borders"]:
            if border["direction"] == "d2d":
                ends = {names[name] for name in border["consumers"] if name in names}
                return merged(answer, [ends | {owner[border["source"].rpartition(":")[0]]}])
        return answer


@mutant("control-edges-ignored", "mixed.partition.order_preserved")
class ControlEdgesIgnored(ReferenceBackend):
    """Partitions as if the graph had no control edges."""

    def graph(self, params: Params) -> Any:
        from npu_reference.graphs import graph_from_def

        definition = super().graph(params).to_def()
        for node in definition.node:
            kept = [name for name in node.input if not name.startswith("^")]
            del node.input[:]
            node.input.extend(kept)
        return graph_from_def(definition)


@mutant("values-change-on-the-way", "mixed.partition.order_preserved")
class ValuesChangeOnTheWay(ReferenceBackend):
    """Turns over the bytes of what is fetched from a partitioned graph."""

    def run(self, params: Params) -> Answer:
        return _fetches_turned_over(super().run(params))


def _fetches_turned_over(answer: Answer) -> Answer:
    import base64

    fetches = {}
    for name, tensor in answer.get("fetches", {}).items():
        if "b64" in tensor:
            raw = base64.b64decode(tensor["b64"])
            tensor = {**tensor, "b64": base64.b64encode(raw[::-1]).decode("ascii")}
        fetches[name] = tensor
    return {**answer, "fetches": fetches}


# Transfers


@mutant("copies-to-the-host-untold", "mixed.transfer.memcpy")
class CopiesToTheHostUntold(ReferenceBackend):
    """Leaves copies from the device to the host out of the trace."""

    def run(self, params: Params) -> Answer:
        return _copies(super().run(params), lambda copies, record: [c for c in copies if c["direction"] != "d2h"])


@mutant("copies-inside-geops", "mixed.transfer.only_boundaries")
class CopiesInsideGeops(ReferenceBackend):
    """Copies every value inside a GEOP to the host as well."""

    def run(self, params: Params) -> Answer:
        def more(copies: List[Any], record: Any) -> List[Any]:
            geops = (record.get("partition") or {}).get("geops", [])
            inner = [name + ":0" for geop in geops for name in geop["nodes"]]
            told = {copy["tensor"] for copy in copies}
            return copies + [{"tensor": one, "direction": "d2h", "bytes": 16} for one in inner if one not in told]

        return _copies(super().run(params), more)


def _copies(answer: Answer, change: Any) -> Answer:
    trace = [{**record, "copies": change(list(record.get("copies", [])), record)} for record in answer["trace"]]
    return {**answer, "trace": trace}


# Iterations


@mutant("iterations-unchecked", "mixed.iterations.must_be_one")
class IterationsUnchecked(ReferenceBackend):
    """Takes any iterations_per_loop in mixed computing."""

    def options(self, params: Params) -> Answer:
        try:
            return super().options(params)
        except NpuError as error:
            if error.code != "OPTION_CONFLICT" or "iterations_per_loop" not in error.subject:
                raise
            answer = super().options(with_values(params, mix_compile_mode=None))
            answer["effective"]["mix_compile_mode"] = {"value": True, "origin": "given"}
            return answer


@mutant("one-iteration-always", "mixed.iterations.must_be_one")
class OneIterationAlways(ReferenceBackend):
    """Refuses iteration offload without mixed computing too."""

    def options(self, params: Params) -> Answer:
        if params["values"].get("iterations_per_loop", 1) != 1:
            raise NpuError("OPTION_CONFLICT", "iterations_per_loop", "is not 1.")
        return super().options(params)


@mutant("ten-iterations-by-default", "mixed.iterations.default_one")
class TenIterationsByDefault(ReferenceBackend):
    """Has 10 as the default of iterations_per_loop."""

    def options(self, params: Params) -> Answer:
        answer = super().options(params)
        iterations = answer["effective"].get("iterations_per_loop")
        if iterations and iterations["origin"] == "default":
            iterations["value"] = 10
        return answer


# Retaining operators


@mutant("scope-ignored", "mixed.scope.without_npu_compile.adds")
class ScopeIgnored(ReferenceBackend):
    """Offloads additions built inside without_npu_compile_scope."""

    def graph(self, params: Params) -> Any:
        return without_scope(super().graph(params), "AddV2")


@mutant("scope-in-functions-ignored", "mixed.scope.without_npu_compile.adds")
class ScopeInFunctionsIgnored(ReferenceBackend):
    """Sees without_npu_compile_scope in the graph and not inside its functions."""

    def graph(self, params: Params) -> Any:
        return without_scope_in_functions(super().graph(params))


@mutant("scope-offloads", "mixed.scope.without_npu_compile.additive")
class ScopeOffloads(ReferenceBackend):
    """Takes without_npu_compile_scope for an order to offload what would stay on the host."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        scoped = scoped_nodes(self.graph(params))
        ops = {entry["node"]: entry["op"] for entry in answer["host"]}
        return to_device(answer, [name for name in scoped if ops.get(name) == "PyFunc"])


@mutant("multiply-leaves-the-scope", "mixed.retain.example_add_mul_host")
class MultiplyLeavesTheScope(ReferenceBackend):
    """Offloads multiplications built inside without_npu_compile_scope."""

    def graph(self, params: Params) -> Any:
        return without_scope(super().graph(params), "Mul")


@mutant("random-on-host", "mixed.retain.example_rest_device")
class RandomOnHost(ReferenceBackend):
    """Keeps random operators on the host."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_operators(params, remove=["RandomStandardNormal"]))


@mutant("retained-cost-negated", "mixed.retain.example_numerics")
class RetainedCostNegated(ReferenceBackend):
    """Gives the cost of the retaining sample with the wrong sign."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        return _fetches_turned_over({**answer, "output": "-" + answer.get("output", "")})


@mutant("scope-without-mixed-untold", "mixed.retain.needs_mix_on")
class ScopeWithoutMixedUntold(ReferenceBackend):
    """Says nothing of without_npu_compile_scope having no effect without mixed computing."""

    def partition(self, params: Params) -> Answer:
        return without_notes(super().partition(params), "SCOPE_WITHOUT_MIX")


# Batch normalization


@mutant("fifth-output-made-up", "mixed.fused_bn_v3.fifth_output")
class FifthOutputMadeUp(ReferenceBackend):
    """Offloads FusedBatchNormV3 although its fifth output is read."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return to_device(answer, _because(answer, "FIFTH_OUTPUT"))


@mutant("batch-norm-v2-unknown", "mixed.fused_bn_v3.horizon_workaround")
class BatchNormV2Unknown(ReferenceBackend):
    """Does not have FusedBatchNormV2 on the device."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_operators(params, remove=["FusedBatchNormV2"]))


# Sessions and RunConfig


@mutant("run-config-drops-mixed", "mixed.estimator.example")
class RunConfigDropsMixed(ReferenceBackend):
    """Does not pass mix_compile_mode on from NPURunConfig."""

    def options(self, params: Params) -> Answer:
        answer = super().options(params)
        if params["surface"] == "runconfig":
            answer["effective"]["mix_compile_mode"] = {"value": False, "origin": "default"}
        return answer


@mutant("session-drops-mixed", "mixed.session.example")
class SessionDropsMixed(ReferenceBackend):
    """Reads mix_compile_mode as False from the parameter map of a session."""

    def partition(self, params: Params) -> Answer:
        if params["surface"] == "session" and "in_out_pair" not in params["values"]:
            params = with_values(params, mix_compile_mode=False)
        return super().partition(params)


@mutant("legacy-always-mixed", "mixed.zh.enable")
class LegacyAlwaysMixed(ReferenceBackend):
    """In the legacy edition has mixed computing on whatever mix_compile_mode says."""

    def partition(self, params: Params) -> Answer:
        if params["edition"] == "legacy" and "mix_compile_mode" in params["values"]:
            params = with_values(params, mix_compile_mode=True)
        return super().partition(params)


@mutant("off-line-by-request", "mixed.session.use_off_line_implicit")
class OffLineByRequest(ReferenceBackend):
    """Uses the device only when use_off_line is set."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return answer if "use_off_line" in params["values"] else everything_on_host(answer)


@mutant("off-line-read-backwards", "mixed.zh.use_off_line_explicit")
class OffLineReadBackwards(ReferenceBackend):
    """Takes use_off_line = True for an order to stay off the device."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return everything_on_host(answer) if params["values"].get("use_off_line") is True else answer


@mutant("ranges-ignored", "mixed.zh.default_set_then_user_set")
class RangesIgnored(ReferenceBackend):
    """Places operators by the built-in rule even when in_out_pair names a range."""

    def partition(self, params: Params) -> Answer:
        super().partition(params)
        return super().partition(with_values(params, in_out_pair=None, in_out_pair_flag=None))


# Scripts


def _failed(subject: str, reason: str) -> NpuError:
    return NpuError("RUN_FAILED", subject, reason)


@mutant("no-run-config-name", "mixed.estimator.star_import")
class NoRunConfigName(ReferenceBackend):
    """Leaves NPURunConfig out of what the star import gives."""

    def run(self, params: Params) -> Answer:
        if "NPURunConfig" in script_text(params):
            raise _failed("NPURunConfig", "name 'NPURunConfig' is not defined.")
        return super().run(params)


@mutant("no-rewriter-config-name", "mixed.session.star_import_rewriter")
class NoRewriterConfigName(ReferenceBackend):
    """Leaves RewriterConfig out of what the star import gives."""

    def run(self, params: Params) -> Answer:
        text = script_text(params)
        if "RewriterConfig.OFF" in text and "import RewriterConfig" not in text:
            raise _failed("RewriterConfig", "name 'RewriterConfig' is not defined.")
        return super().run(params)


@mutant("no-separate-imports", "mixed.zh.imports_legacy")
class NoSeparateImports(ReferenceBackend):
    """Has no module npu_bridge.estimator.npu_ops."""

    def run(self, params: Params) -> Answer:
        if "from npu_bridge.estimator import npu_ops" in script_text(params):
            raise _failed("npu_bridge.estimator.npu_ops", "there is no such module.")
        return super().run(params)


@mutant("remapping-untold", "mixed.session.remapping_off")
class RemappingUntold(ReferenceBackend):
    """Says nothing when a session leaves remapping on."""

    def run(self, params: Params) -> Answer:
        return {**super().run(params), "log": []}


@mutant("memory-optimization-changes-results", "mixed.session.memory_optimization_off")
class MemoryOptimizationChangesResults(ReferenceBackend):
    """Computes something else under TensorFlow's default memory optimization."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        return {**answer, "output": answer.get("output", "").replace("DEFAULT_MEM_OPT: [3.0", "DEFAULT_MEM_OPT: [0.0")}


@mutant("both-optimizations-demanded", "mixed.zh.remapping_only")
class BothOptimizationsDemanded(ReferenceBackend):
    """Refuses a session that does not switch memory_optimization off."""

    def run(self, params: Params) -> Answer:
        text = script_text(params)
        if text and "memory_optimization" not in text:
            raise _failed("memory_optimization", "is not OFF.")
        return super().run(params)


@mutant("no-soft-placement", "mixed.session.soft_placement")
class NoSoftPlacement(ReferenceBackend):
    """Refuses operators pinned to a device that does not exist, soft placement or not."""

    def run(self, params: Params) -> Answer:
        if "tf.device(" in script_text(params):
            raise _failed("pinned", "is pinned to a device that does not exist.")
        return super().run(params)


@mutant("keras-on-host", "mixed.keras.same_as_session")
class KerasOnHost(ReferenceBackend):
    """Leaves a session that was handed to Keras on the host."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        return {**answer, "trace": []} if "set_session" in script_text(params) else answer
