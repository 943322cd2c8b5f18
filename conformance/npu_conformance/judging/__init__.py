"""What an outcome is worth: its status, and whether a failure of it was known."""
