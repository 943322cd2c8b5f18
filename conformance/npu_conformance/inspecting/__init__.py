"""What lies in a folder that a run or a compilation has left, one module a kind of folder."""
