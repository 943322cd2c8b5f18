"""What a script finds around it: what a launch script exports, the edition of its options, the Keras it runs with."""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from npu_reference.runtime.config import EDITION_VARIABLE

__all__ = ["LAUNCHER", "launched", "of_edition", "prefer_keras_2"]

#: What launch scripts export for one device, and scripts read without a default.
LAUNCHER = {"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "0", "JOB_ID": "10087"}


@contextmanager
def launched() -> Iterator[None]:
    """The environment of a launch script, where it is not there."""
    added = [name for name in LAUNCHER if name not in os.environ]
    if os.environ.get("RANK_SIZE", "1") != "1":
        # Which of several ranks this is, if any, nobody but a launch script knows.
        added = [name for name in added if name not in ("RANK_ID", "DEVICE_ID")]
    os.environ.update({name: LAUNCHER[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def of_edition(edition: Optional[str]) -> Iterator[None]:
    """The edition for the script's sessions and for ``npu_bridge``, which reads the variable too."""
    before = os.environ.get(EDITION_VARIABLE)
    if edition is not None:
        os.environ[EDITION_VARIABLE] = edition
    try:
        yield
    finally:
        if edition is not None:
            if before is None:
                os.environ.pop(EDITION_VARIABLE, None)
            else:
                os.environ[EDITION_VARIABLE] = before


def prefer_keras_2(say: Callable[[str], None]) -> None:
    """TensorFlow decides at import which Keras it has; sessions need version 2, which tf_keras brings from 2.16 on."""
    if "tensorflow" in sys.modules or "TF_USE_LEGACY_KERAS" in os.environ:
        return
    if importlib.util.find_spec("tf_keras") is not None:
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        say("TF_USE_LEGACY_KERAS=1 is set: Keras sessions need Keras 2, which the installed tf_keras provides.")
