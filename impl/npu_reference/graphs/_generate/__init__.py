"""Programs that make the package's data files; each needs a TensorFlow, which the package itself never does."""
