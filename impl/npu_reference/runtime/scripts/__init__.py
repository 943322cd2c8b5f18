"""How whole scripts and the protocol's graphs are run."""
