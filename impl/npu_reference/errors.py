"""The one error type of the project, and the catalogue of every code it may carry."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

from npu_reference.printing import clipped, printable

__all__ = ["CATALOGUE", "DeviceError", "ErrorKind", "NpuError", "ExitStatus"]


class ExitStatus:
    """Exit statuses of every command (design, interface "CLI")."""

    OK = 0
    NEGATIVE = 1
    BAD_INPUT = 2
    UNAVAILABLE = 3
    INTERNAL = 70


class ErrorKind(NamedTuple):
    """What one code means, for the reference page and for exit statuses."""

    code: str
    meaning: str
    exit_status: int = ExitStatus.BAD_INPUT


_KINDS: List[ErrorKind] = [
    # Input graphs
    ErrorKind("GRAPH_FILE", "the graph file cannot be found or read"),
    ErrorKind("GRAPH_FORMAT", "the file is none of the graph formats, or is cut off or corrupt"),
    ErrorKind("GRAPH_LIMIT", "the graph exceeds a bound on size, depth or count"),
    ErrorKind("GRAPH_DUPLICATE_NODE", "two nodes of one graph share a name"),
    ErrorKind("GRAPH_INPUT", "a node reads an output that does not exist"),
    ErrorKind("GRAPH_CYCLE", "the graph has a cycle that is not a while loop"),
    ErrorKind("GRAPH_UNKNOWN_OP", "an operator is neither in TensorFlow 1.15 or 2.21 nor in the graph's functions"),
    ErrorKind("GRAPH_ATTR", "a node lacks an attribute its operator needs, or has one of the wrong type"),
    ErrorKind("GRAPH_FEED_FETCH", "a feed or fetch names no tensor of the graph"),
    # Options
    ErrorKind("OPTION_TYPE", "an option's value has the wrong type or stands in the wrong field"),
    ErrorKind("OPTION_VALUE", "an option's value is outside its domain"),
    ErrorKind("OPTION_SYNTAX", "an option's text does not follow its grammar"),
    ErrorKind("OPTION_CONFLICT", "two options exclude each other, or one needs another"),
    ErrorKind("OPTION_FILE", "a file named by an option cannot be read or does not follow its format"),
    ErrorKind("OP_LIST", "the operator list is not a JSON of the adapter's form"),
    # Partitioning
    ErrorKind("RANGE_UNSUPPORTED", "an in_out_pair range to be offloaded holds an operator that cannot be"),
    ErrorKind("RANGE_SCOPE", "an in_out_pair range to be offloaded holds a without_npu_compile_scope operator"),
    ErrorKind("REF_BORDER", "a variable's reference would have to cross the border of a GEOP"),
    ErrorKind("ADAPTER_ABORT", "under policy 'adapter': the adapter's own pass ends the process here"),
    # Precision
    ErrorKind("OPS_INFO_FILE", "an operator information file is not of the form of aic-<soc>-ops-info.json"),
    ErrorKind("PRECISION_NO_KERNEL", "no engine of the device has a kernel for an operator at the precision demanded"),
    ErrorKind("PRECISION_DTYPES", "customize_dtypes asks for dtypes that an operator does not have"),
    # Running
    ErrorKind("SCRIPT_FILE", "the script cannot be found or read"),
    ErrorKind("TENSORFLOW_MISSING", "TensorFlow is needed for this and is not installed", ExitStatus.UNAVAILABLE),
    ErrorKind("RUN_FAILED", "execution of the graph failed"),
    ErrorKind("INPUT_SHAPE", "an input of a run has a shape outside the session's profiles or ranges"),
    ErrorKind("DEVICE_MEMORY", "a run needs more of the device's memory than the session allows"),
    ErrorKind("ADAPTER_NAME", "a name of the adapter that is not simulated, or that no adapter has"),
    # The device
    ErrorKind("DEVICE_FILE", "a device file is missing, malformed, or names no device"),
    ErrorKind("DEVICE_SIZES", "the sizes of a graph's tensors are unknown, so its time and memory are"),
    ErrorKind("DEVICE_MODEL", "the model of the device has no such operator"),
    ErrorKind("DEVICE_TIMEOUT", "the device, or the host that waits for it, took longer than a timeout option allows"),
    ErrorKind("DEVICE_ENDLESS", "the device never ends, and no timeout option is set that would end the wait"),
    ErrorKind("DEVICE_FAULT", "a kernel failed while it ran on the device"),
    ErrorKind("COLLECTIVE_TIMEOUT", "a collective waited longer for a rank than hccl_timeout allows"),
    ErrorKind("COLLECTIVE_MISMATCH", "ranks ask for different things in what ought to be one collective"),
    ErrorKind("KERNEL_FAILURE", "a kernel cannot be compiled"),
    ErrorKind("FAULT_VALUE", "a fault that is asked for is none that the device can have"),
    # What compilation and runs leave
    ErrorKind("FILES_LEFT", "a directory named by an option cannot take the files that are asked for"),
    ErrorKind("DUMP_FILE", "a file or folder is no dump, or was cut off or changed"),
    ErrorKind("INSPECT_FOLDER", "a folder is missing, or holds nothing that a run or a compilation leaves"),
    # The suite
    ErrorKind("USAGE", "the command line is wrong"),
    ErrorKind("CASE_FILE", "a case file or golden is malformed"),
    ErrorKind("BACKEND_SPEC", "the backend specification cannot be understood"),
    ErrorKind("BACKEND_UNAVAILABLE", "the backend did not start or did not say hello", ExitStatus.UNAVAILABLE),
    ErrorKind("PROTOCOL", "a message does not follow the worker protocol"),
    ErrorKind("OUTPUT", "a result cannot be written"),
    ErrorKind("SYSTEM", "the system denies what the program needs: temporary files, memory, a working directory"),
    ErrorKind("INTERNAL", "a defect in this program; please report it", ExitStatus.INTERNAL),
]

#: Every code, once. Documentation, protocol schema and exit statuses derive from it.
CATALOGUE: Dict[str, ErrorKind] = {kind.code: kind for kind in _KINDS}


class NpuError(Exception):
    """Something is wrong with what the user gave: what, where, and what would be right.

    Args:
        code: one of :data:`CATALOGUE`.
        subject: where: the option, node, file (with line) or case concerned.
        reason: what is wrong there, one sentence without the subject.
        remedy: what would be right; a sentence, or empty when the reason says it all.
        rule: the requirement or reading that decides so, where one is known.
    """

    def __init__(self, code: str, subject: str, reason: str, remedy: str = "", *, rule: str = "") -> None:
        if code not in CATALOGUE:
            raise ValueError(f"unknown error code {code!r}")
        # What a file or a command line says is echoed, and has no bound of its own.
        subject, reason, remedy = clipped(subject, 400), clipped(reason, 900), clipped(remedy, 600)
        super().__init__(code, subject, reason, remedy)
        self.code = code
        self.subject = subject
        self.reason = reason
        self.remedy = remedy
        self.rule = rule

    @property
    def exit_status(self) -> int:
        return CATALOGUE[self.code].exit_status

    @property
    def message(self) -> str:
        """The whole text without the code, one line that no terminal obeys."""
        text = f"{self.subject}: {self.reason}" if self.subject else self.reason
        if self.remedy:
            stop = "" if text.endswith((".", "!", "?", ":")) else "."
            text = f"{text}{stop} {self.remedy}"
        return printable(text)

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"

    def to_json(self) -> Dict[str, Any]:
        """The body of a protocol answer ``rejected``."""
        return {
            "code": self.code,
            "message": self.message,
            "subject": self.subject,
            "reason": self.reason,
            "remedy": self.remedy,
        }


class DeviceError(NpuError):
    """Something went wrong on the device, at a moment of its virtual clock.

    Args:
        number: the error number or code that the documents, or real devices, give it: ``507014``, ``EZ9999``.
        option: the option that decided it, or empty.
        after_ns: nanoseconds on the virtual clock from the begin of the step; None where no time is known.
    """

    def __init__(
        self,
        code: str,
        subject: str,
        reason: str,
        remedy: str = "",
        *,
        rule: str = "",
        number: str = "",
        option: str = "",
        after_ns: Optional[int] = None,
    ) -> None:
        super().__init__(code, subject, reason, remedy, rule=rule)
        self.number = number
        self.option = option
        self.after_ns = after_ns

    def to_json(self) -> Dict[str, Any]:
        """The body of ``rejected``, with what is known of the device beside."""
        known = {"number": self.number or None, "option": self.option or None, "after_ns": self.after_ns}
        return {**super().to_json(), **{name: value for name, value in known.items() if value is not None}}
