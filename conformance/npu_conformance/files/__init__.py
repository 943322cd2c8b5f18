"""Where the suite's data lies, and how files are read and written whole."""
