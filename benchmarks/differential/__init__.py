"""Random TensorFlow 1 programs, each run plain and on the simulated device; see ``__main__``."""
