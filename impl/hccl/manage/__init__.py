"""Ranks and groups."""
