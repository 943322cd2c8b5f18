"""What crosses the borders of GEOPs, and whether a division of a graph can run."""
