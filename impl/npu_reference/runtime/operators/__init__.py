"""The adapter's own operators: what TensorFlow, which does not have them, computes in their place."""
