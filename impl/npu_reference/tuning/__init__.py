"""Automatic tuning on the model of the device: which kernels are tuned, what is found, and the files that keep it."""

from npu_reference.tuning.plan import TuningPlan, plan_of
from npu_reference.tuning.repository import BANK, read, result_files, write
from npu_reference.tuning.search import Tuned, tiles_of, tune

__all__ = ["BANK", "TuningPlan", "Tuned", "plan_of", "read", "result_files", "tiles_of", "tune", "write"]
