"""Operators of the device's CPU that scripts call by hand."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_reference.runtime.operators.choosing import random_choice_with_mask as randomchoicewithmask

__all__ = ["RandomChoiceWithMask", "randomchoicewithmask"]

RandomChoiceWithMask = randomchoicewithmask

__getattr__ = module_getattr(__name__)
