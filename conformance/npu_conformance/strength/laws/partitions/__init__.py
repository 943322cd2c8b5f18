"""The laws of `partition`."""
