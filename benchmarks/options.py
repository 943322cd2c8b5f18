"""How fast options are resolved: random configurations of every surface and edition, in one process.

    PYTHONPATH=impl python benchmarks/options.py [configurations]

The bound is 100 000 configurations in 60 s (the issue that asked for the options).
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any, Dict, List

from npu_reference.options import EDITIONS, OPTIONS, SURFACES, Facet, resolve
from npu_reference.options.domains import Boolean, Choice, Integer, Path, Text

BOUND_SECONDS = 60.0
BOUND_COUNT = 100_000

_FILES = {
    "/bench/modify_mixlist": '{"black-list":{"to-add":["Cast"]}}',
    "/bench/fusion_switch_file": '{"Switch":{"GraphFusion":{"ALL":"off"}}}',
    "/bench/op_precision_mode": "AvgPoolV2=high_precision\n",
    "/bench/customize_dtypes": "OpType::Relu:InputDtype:float16,OutputDtype:float16\n",
    "/bench/op_debug_config": "op_debug_config=ccec_g\nop_debug_list=Relu\n",
    "/bench/aoe_config_file": '{"tune_ops_type":["Add"]}',
    "/bench/dump_path/": None,
    "/bench/work_path/": None,
}
_ENV = {"HCCL_EXEC_TIMEOUT": "700", "ASCEND_DEVICE_ID": "2", "HOME": "/home/bench", "RANK_SIZE": "8"}


def _value(random_: random.Random, name: str, facet: Facet) -> Any:
    """A value that is mostly right."""
    if random_.random() < 0.05:
        return random_.choice([True, 7, "wrong", None, 1.5, {"field": "s", "value": "x"}])
    domain = facet.domain
    if isinstance(domain, Boolean):
        return random_.random() < 0.5
    if isinstance(domain, Integer):
        return random_.randint(domain.low or 0, min(domain.high or 1000, 10**6))
    if isinstance(domain, Choice):
        return random_.choice(domain.words)
    if isinstance(domain, Path):
        return f"/bench/{name}"
    if isinstance(domain, Text):
        return domain.example or "a"
    return {}


def configurations(count: int, seed: int = 1) -> List[Dict[str, Any]]:
    """Arguments for ``resolve``, the same ones every time."""
    random_ = random.Random(seed)
    places = {
        (surface, edition): [
            (name, option.facets[surface, edition])
            for name, option in OPTIONS.items()
            if (surface, edition) in option.facets
        ]
        for surface in SURFACES
        for edition in EDITIONS
    }
    made = []
    for _ in range(count):
        surface, edition = random_.choice(list(places))
        chosen = random_.sample(places[surface, edition], random_.randint(0, 20))
        values = {name: _value(random_, name, facet) for name, facet in chosen}
        if random_.random() < 0.05:
            values["precison_mode"] = "x"
        env = _ENV if random_.random() < 0.5 else {}
        made.append({"values": values, "surface": surface, "edition": edition, "env": env, "files": _FILES})
    return made


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else BOUND_COUNT
    asked = configurations(count)
    start = time.process_time()
    errors = sum(len(resolve(**arguments).errors) for arguments in asked)
    spent = time.process_time() - start
    print(f"{count} configurations, {errors} errors found, {spent:.1f} s, {spent / count * 1e6:.0f} us each")
    return 0 if spent <= BOUND_SECONDS * count / BOUND_COUNT else 1


if __name__ == "__main__":
    sys.exit(main())
