"""What a graph's edges carry, and the orders that no edge shows."""
