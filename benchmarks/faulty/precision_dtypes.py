"""Precision: customize_dtypes, keep_dtype_scope and implementations of single operators."""

from __future__ import annotations

import re
from typing import Any, Dict

from faulty.asked import all_values, in_values, is_about, ops_of, texts, value_is, with_values, without
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, misreads, of_nodes
from npu_reference.errors import NpuError


@mistake("precision.customize.unsupported_dtype")
def dtypes_of_functions_are_not_checked(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_DTYPES" or str(error.subject).split(" ")[0] in ops_of(params):
            raise
        return dict(ask(all_values(params, without("customize_dtypes"))))


@mistake("files.customize_dtypes.multi_dtypes")
def types_have_one_dtype(ask: Any, params: Params) -> Answer:
    def change(text: str) -> str:
        return re.sub(r"(?im)^(OpType:.*?InputDtype:)([^,:\s]*)(?:,(?!\s*OutputDtype)[^,:\s]*)+", r"\1\2", text)

    return ask(texts(params, "customize_dtypes", change))


fault(
    "a_remark_needs_a_blank",
    "files.customize_dtypes.comments",
    misreads("customize_dtypes", lambda text: re.sub(r"(?m)^#(?=[^\s#])", "", text)),
    methods=("options", "precision"),
)
fault(
    "names_are_two_levels_deep_at_most",
    "files.customize_dtypes.name_with_slash",
    misreads(
        "customize_dtypes",
        lambda text: "\n".join(line for line in text.split("\n") if line.split("::")[0].count("/") < 2),
    ),
    methods=("options", "precision"),
)


@mistake("precision.customize.must_keep_off")
def dtypes_beat_keeping(ask: Any, params: Params) -> Answer:
    if "customize_dtypes" in params["values"] and "must_keep" in str(params["values"].get("precision_mode")):
        return ask(with_values(params, precision_mode=None))
    return ask(params)


def _second_input(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if "customize_dtypes" in params["values"] and len(node["inputs"]) > 1 and len(set(node["inputs"])) > 1:
        node["inputs"] = [node["inputs"][0]] * len(node["inputs"])


fault("first_custom_dtype_for_all", "files.customize_dtypes.multi_dtypes", of_nodes(_second_input))
fault(
    "no_buffers_no_implementations",
    "session.op_select_implmode.high_precision",
    asks(
        lambda params: (
            with_values(params, op_select_implmode=None)
            if value_is(params, "buffer_optimize", "off_optimize") and is_about(params, edition="legacy")
            else params
        )
    ),
)


@mistake("runconfig.op_precision_mode.over_implmode")
def older_implementation_wins(ask: Any, params: Params) -> Answer:
    if "op_select_implmode" in params["values"]:
        return ask(with_values(params, op_precision_mode=None))
    return ask(params)


fault(
    "implementation_modes_are_taken_and_forgotten",
    "session.op_select_implmode.high_precision",
    asks(in_values(without("op_select_implmode"))),
)
