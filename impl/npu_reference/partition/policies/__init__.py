"""The two ways to divide a graph: the adapter's own, and the documents'."""
