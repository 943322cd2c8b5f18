"""Reports of the reference and of two mutants about a handful of cases, as a site is made of."""

from __future__ import annotations

import os
from typing import List

from npu_conformance.files import output
from npu_conformance.library import selection
from npu_conformance.report import write
from npu_conformance.running import lanes, runner
from tests.cases.corpus import corpus

SPECS = ("reference", "mutant:first-entry-only", "mutant:constants-stay-outside")
#: Each mutant fails one of them, which costs a fresh worker; the reference passes all.
INSTANCES = ("two-ranges-are-a-union@current", "range-with-a-listed-constant@current")


def made(folder: str) -> List[str]:
    """Folders of the reports, in the order of :data:`SPECS`."""
    found = []
    library = corpus()
    wanted = selection.select(library, only=INSTANCES)
    assert len(wanted) == len(INSTANCES)
    for number, spec in enumerate(SPECS):
        found.append(os.path.join(folder, str(number)))
        asked = {"areas": [], "editions": [], "keyword": "", "instances": list(INSTANCES)}
        report = runner.run(library, wanted, spec, lanes.Settings(), selection=asked)
        with output.replaced_folder(found[-1]) as aside:
            assert write.write(library, report, aside) == ""
    return found
