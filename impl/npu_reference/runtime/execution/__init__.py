"""How one signature is placed and computed."""
