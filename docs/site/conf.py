"""How Sphinx renders the pages that ``build.py`` gathers."""

from __future__ import annotations

import npu_reference

project = "npu-conformance"
release = version = npu_reference.__version__
copyright = "the authors of npu-conformance"

extensions = ["myst_parser", "sphinx_click"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # the anchors that GitHub gives to headings
suppress_warnings = ["misc.highlighting_failure"]  # signatures are shown as Python, and are not quite

html_theme = "furo"
html_title = f"npu-conformance {release.partition('+')[0]}"  # a commit's name is wider than a phone
html_show_sphinx = False
html_copy_source = False
# Command lines are copied from the help of commands, where dashes and quotes have to stay as they are.
smartquotes = False
