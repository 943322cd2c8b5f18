"""A configuration file that its option's own reader refuses.

A file is looked for where the script would find it when it is started in its own folder. One that is not there is not
complained of: it may be on the device's machine. The message says the line of the file.
"""

from __future__ import annotations

from npu_conformance.lint.checking import telling

check = telling(__name__, "E108", "config-file", "OPTION_FILE", at="value")
