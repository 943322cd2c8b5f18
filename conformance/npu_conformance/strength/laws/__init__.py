"""Laws that hold of every partition, asked of a backend on random graphs."""
