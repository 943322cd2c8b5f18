"""What graph compilation leaves on disk: kernel files, the kernel cache, fusion_result.json, external weights."""

from __future__ import annotations

from npu_reference.artifacts.folder import Folder, FolderPlace
from npu_reference.artifacts.program import KernelRecord, Left, Model, Program, ProgramRemark

__all__ = ["Folder", "KernelRecord", "Left", "Model", "FolderPlace", "Program", "ProgramRemark"]
