"""Mutants of what compilation leaves: each leaves, forgets, misplaces or trusts a file that it should not."""
