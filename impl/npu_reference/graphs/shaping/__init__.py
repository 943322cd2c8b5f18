"""Which shapes the tensors of a graph have, as far as the graph tells without running it."""
