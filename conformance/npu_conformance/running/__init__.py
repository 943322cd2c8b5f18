"""Asking a backend many instances, on several workers, in bounded time."""
