"""What is wrong with a script that uses the adapter, found by reading it: nothing is run, TensorFlow is not needed."""
