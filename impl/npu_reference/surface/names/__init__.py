"""The names of the adapter's Python API, declared by what they are for."""
