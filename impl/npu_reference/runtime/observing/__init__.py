"""What the runtime says and remembers of what ran."""
