"""How TensorFlow's sessions are taken over, and what each then does."""
