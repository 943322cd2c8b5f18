"""The files of tuning: what was asked, what was found, and the bank of tiles that later runs compile with."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import Tile, candidates
from npu_reference.device.faults import DiskFault
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options.domains import echo
from npu_reference.tuning.plan import TuningPlan
from npu_reference.tuning.search import Tuned

__all__ = ["BANK", "read", "result_files", "write"]

#: The bank's file, below work_path.
BANK = "aoe_bank.json"

_VERSION = 1
_LARGEST = 16 << 20  # bytes of a bank that is read (assumed)
_MOST = 100000  # entries
_DIGITS = 18
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def result_files(
    plan: TuningPlan, tuned: Sequence[Tuned], device: Device, bank: Mapping[Gemm, Tile]
) -> Dict[str, bytes]:
    """Name below work_path to content: configuration, results, and the bank with what it held before.

    The bank is written where there is anything in it (runconfig.work_path.contents).
    """
    listed = {"tune_ops_name": plan.names, "tune_ops_type": plan.types}
    configuration = {
        "simulated": True,
        "aoe_mode": plan.mode,
        "tune_optimization_level": "O1" if plan.fine else "O2",
        **{key: list(value) for key, value in listed.items() if value is not None},
    }
    results = {"simulated": True, "device": device.name, "tuned": [one.to_json() for one in tuned]}
    found = {"aoe_config.json": _text(configuration), f"aoe_result_{plan.word}.json": _text(results)}
    kept = {**bank, **{one.gemm: one.tile for one in tuned if one.better}}
    if kept:
        found[BANK] = _text(_bank(kept, device))
    return found


def _bank(tiles: Mapping[Gemm, Tile], device: Device) -> Dict[str, Any]:
    entries = [[list(gemm), list(tile)] for gemm, tile in sorted(tiles.items())]
    return {"simulated": True, "version": _VERSION, "device": device.name, "tiles": entries, "digest": _digest(entries)}


def _digest(entries: Any) -> str:
    return hashlib.sha256(json.dumps(entries, separators=(",", ":")).encode("ascii")).hexdigest()


def _text(content: Any) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("ascii")


def write(path: str, content: bytes, disk: Optional[DiskFault] = None) -> None:
    """Put a file in its place whole: aside, then renamed.

    Raises:
        NpuError: OPTION_FILE, where the directory is missing or cannot be written.
    """
    aside = f"{path}.{os.urandom(8).hex()}.part"
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                (disk or DiskFault()).write(file, content)
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(aside)
            raise
    except (OSError, ValueError) as error:
        folder, name = os.path.split(path)
        why = getattr(error, "strerror", None) or "it is no path"
        raise NpuError(
            "OPTION_FILE", "work_path", f"the directory {echo(folder)} cannot take {name}: {why}.",
            "Name a directory that exists, that you may write to, and that has room.",
        ) from None  # fmt: skip


def read(folder: str, device: Device) -> Tuple[Mapping[Gemm, Tile], Optional[str]]:
    """The tiles of a bank in a folder, and why there are none where a file is there that cannot be trusted.

    A bank that is torn, of another version or of another device is not used; a tile that does not fit the device's
    buffers is none.
    """
    path = os.path.join(folder, BANK)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW)
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError) as error:
        return {}, f"{BANK} cannot be read: {getattr(error, 'strerror', None) or 'it is no path'}."
    try:
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                return {}, f"{BANK} is no file."
            if about.st_size > _LARGEST:
                return {}, f"{BANK} is too large to be one."
            told = json.loads(file.read(_LARGEST).decode("ascii"), parse_int=_integer)
    except (OSError, ValueError, RecursionError):
        return {}, f"{BANK} is torn or no bank."
    return _checked(told, device)


def _integer(digits: str) -> int:
    """Long numbers take forever to read, and no size has them."""
    if len(digits) > _DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def _checked(told: Any, device: Device) -> Tuple[Mapping[Gemm, Tile], Optional[str]]:
    if not isinstance(told, dict) or told.get("version") != _VERSION:
        return {}, f"{BANK} is of another version."
    if told.get("device") != device.name:
        return {}, f"{BANK} is of another device."
    entries = told.get("tiles")
    if not isinstance(entries, list) or len(entries) > _MOST or told.get("digest") != _digest(entries):
        return {}, f"{BANK} is torn or was changed by hand."
    found: Dict[Gemm, Tile] = {}
    for entry in entries:
        if not _is_entry(entry):
            return {}, f"{BANK} holds something that is no tile."
        gemm, chosen = Gemm(*entry[0]), Tile(*entry[1])
        if _fits(chosen, gemm, device):
            found[gemm] = chosen
    return found, None


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(part, list) for part in entry):
        return False
    sizes = [*entry[0], *entry[1]]
    whole = all(type(size) is int and 0 <= size < 1 << 40 for size in sizes)
    return whole and len(entry[0]) == len(Gemm._fields) and len(entry[1]) == 2 and min(entry[1]) > 0


def _fits(chosen: Tile, gemm: Gemm, device: Device) -> bool:
    rows, depth, columns = int(device.cube_m), int(device.cube_k), int(device.cube_n)
    blocks = chosen.m % rows == 0 and chosen.n % columns == 0
    buffers = (
        chosen.m * chosen.n * 4 <= device.l0c
        and chosen.m * depth * gemm.operand <= device.l0a
        and chosen.n * depth * gemm.operand <= device.l0b
    )
    return blocks and buffers and any(True for _ in candidates(gemm, device))
