"""How operators of GEOPs come to write their tensors into dump files while they run."""
