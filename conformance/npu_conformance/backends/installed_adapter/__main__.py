"""Starts the worker by its path, or a script that it watches."""

import os
import sys

if __name__ == "__main__":
    # This package alone is taken from its folder, under a name that no adapter has, and the path is as it was without.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(here), *(path for path in sys.path if path != here)]
    from installed_adapter import serving, watching

    del sys.path[0]
    if sys.argv[1:2] == ["--watch"]:
        watching.watch_script(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(serving.main())
