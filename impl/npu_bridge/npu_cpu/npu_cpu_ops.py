"""Operators of the device's CPU that scripts call by hand."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_bridge.helper.helper import get_gen_ops
from npu_reference.runtime.operators.random_choice import random_choice_with_mask as randomchoicewithmask

__all__ = ["RandomChoiceWithMask", "gen_npu_cpu_ops", "randomchoicewithmask"]

RandomChoiceWithMask = randomchoicewithmask

gen_npu_cpu_ops = get_gen_ops()

__getattr__ = module_getattr(__name__)
