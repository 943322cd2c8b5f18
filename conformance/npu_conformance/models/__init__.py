"""A user's own models: golden graphs, demands of a CI, precision, bisection."""
