"""What a division means: the least number of GEOPs, constants beyond float16, places for viewers."""
