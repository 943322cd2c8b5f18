"""One module a rule; each registers itself when it is imported."""

from __future__ import annotations

import importlib
import pkgutil

for _module in sorted(one.name for one in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
