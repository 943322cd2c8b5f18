"""What of an answer is compared: canonical facts, and tensors as bits."""
