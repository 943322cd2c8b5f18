"""How gradients are split for communication."""
