"""What is answered: the partition with its names, and the graph in which GEOPs are calls."""
