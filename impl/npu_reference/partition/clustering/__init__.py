"""Which candidates share a GEOP."""
