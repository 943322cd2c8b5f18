"""Runs a script as ``__main__`` with the simulated device switched on, and says at the end what ran there."""

from __future__ import annotations

from typing import Callable, Optional, Sequence, Set, TextIO, Union

from npu_reference.device.faults import NONE, Faults
from npu_reference.hardware import Device
from npu_reference.options.typed import DataDump
from npu_reference.runtime.config import PRECISIONS, current_overrides, overriding
from npu_reference.runtime.config import device_precision as checked_precision
from npu_reference.runtime.observing.account import Account, keeping
from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import Trace, process_trace
from npu_reference.runtime.scripts.environment import launched, of_edition, prefer_keras_2
from npu_reference.runtime.scripts.executing import execute
from npu_reference.runtime.scripts.loading import reader, source_of, text_of, unchanged
from npu_reference.runtime.scripts.modules import reading
from npu_reference.runtime.scripts.outputs import check_writable, dump_folder, write_trace
from npu_reference.runtime.scripts.reporting import hearer, report, speaker
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["PRECISIONS", "simulate"]


def simulate(
    script: str,
    argv: Sequence[str] = (),
    *,
    log: Union[Callable[[str], None], TextIO, None] = None,
    device_precision: Optional[str] = None,
    edition: Optional[str] = None,
    trace_file: Optional[str] = None,
    adapt_imports: bool = True,
    account: Optional[Account] = None,
    dump_plain: Optional[str] = None,
    clock: Optional[bool] = None,
    device: Optional[Device] = None,
    faults: Faults = NONE,
) -> Trace:
    """Run a script the way ``python script argv`` would, on the simulated device, which is left switched on.

    Args:
        script: its file.
        argv: its arguments.
        log: a function or stream that takes each line the simulator has to say; without it they go to stderr.
        device_precision: one of :data:`PRECISIONS`; else the environment's, else ``off``.
        edition: of the options, for sessions of this script; else the environment's (G14).
        trace_file: where to write the trace as JSON.
        adapt_imports: under TensorFlow 2, read ``import tensorflow as tf`` of a script that uses names of TensorFlow 1
            as ``import tensorflow.compat.v1 as tf``, and its modules likewise. No file is changed.
        account: filled with what happens, session by session, for whoever wants to tell of it.
        dump_plain: a folder that takes the outputs of all operators of GEOPs as plain TensorFlow computes them, to hold
            another dump against; made where it is missing. Options of the script about dumps do not count then.
        clock: whether every run is told its time and memory on the device (docs/device.md); else as it is around.
        device: the simulated device, for its time and memory; else the default one.
        faults: what the device suffers.

    What a launch script exports for one device is set while the script runs, where it is unset (:mod:`surroundings`).

    Returns:
        The trace of the process.

    Raises:
        NpuError: SCRIPT_FILE, TENSORFLOW_MISSING, USAGE, OUTPUT.
        SystemExit: as the script does; 1, with the script's own traceback on stderr, when it raises anything else.
    """
    say = speaker(log)
    if device_precision is not None:
        checked_precision(device_precision)
    text = text_of(script)
    if trace_file is not None:
        check_writable(trace_file)
    around = current_overrides()
    if device_precision is not None:
        around = around._replace(device_precision=device_precision)
    if dump_plain is not None:
        around = around._replace(
            device_precision="off",
            dump=DataDump(dump_folder(dump_plain, device_precision), None, "output", option="--dump-plain"),
        )
    if clock is not None:
        around = around._replace(clock=clock)
    if device is not None:
        around = around._replace(device=device)
    if faults.items:
        around = around._replace(faults=faults)
    heard: Set[str] = set()
    hear = hearer(say, heard)
    with of_edition(edition), launched(), overriding(around), listening(hear), keeping(account) as kept:
        prefer_keras_2(say)
        activation.activate()
        read = reader(say) if adapt_imports and tensorflow().major >= 2 else unchanged
        source = source_of(text, script, read, say)
        before = process_trace().totals
        try:
            with reading(read):
                execute(source, script, list(argv), kept)
        finally:
            report(say, before, kept, around.faults, heard)
            if trace_file is not None:
                write_trace(trace_file)
    return process_trace()
