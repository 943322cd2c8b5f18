"""Which operators could be offloaded, and which others keep them on the host."""
