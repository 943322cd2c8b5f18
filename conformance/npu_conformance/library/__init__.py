"""The cases: read from files, checked, and multiplied into instances and twins."""
