"""``npu-conformance profile SCRIPT``: a script runs on the simulated device, and where its device time goes is told."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from npu_conformance.commands.shared import echo_json, how_made
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["profile_script", "refuse_for_scripts"]


def refuse_for_scripts(given: Mapping[str, Any]) -> None:
    """What a script says itself cannot be given beside it.

    Raises:
        NpuError: USAGE.
    """
    for name, value in given.items():
        if value:
            reason = "a script says this itself, in its sessions."
            raise NpuError("USAGE", name, reason, "Leave it out, or use --compare to see what another option changes.")


def profile_script(
    script: str,
    arguments: Sequence[str],
    *,
    device: str,
    other: Sequence[str],
    html: Optional[str],
    trace_file: Optional[str],
    edition: Optional[str],
    form: str,
) -> int:
    """Run a script, then tell of it. Its own output comes before; its exit status is ours, unless it is 0."""
    from npu_conformance.files import output
    from npu_conformance.models import script as scripts
    from npu_conformance.models import script_profile
    from npu_conformance.protocol import schema
    from npu_reference.hardware import load
    from npu_reference.options import parse_assignments
    from npu_reference.runtime.observing.account import Account
    from npu_reference.runtime.observing.trace import process_trace
    from npu_reference.runtime.scripts.simulate import simulate

    changes = [parse_assignments([text]) for text in other]
    machine = load(device)
    for path in (html, trace_file):
        if path:
            output.check_writable(path)  # before the script has run for an hour
    account = Account()
    status = 0
    try:
        simulate(script, list(arguments), account=account, clock=True, device=machine, edition=edition)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    answer = script_profile.answer(account, script, status, changes)
    if html:
        from npu_conformance.report import script_page

        output.write_file(html, script_page.page(scripts.tell(account, script, status), how_made()))
    if trace_file:
        output.write_file(trace_file, output.dumps(script_profile.trace(process_trace().runs)) + "\n")
    if form == "json":
        echo_json({"schema": schema.header("profile-script"), **answer})
    else:
        from npu_conformance.report import text_script_profile

        text_script_profile.profile(answer)
    return status or ExitStatus.OK
