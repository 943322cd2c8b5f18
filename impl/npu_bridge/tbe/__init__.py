"""Package of the cube and vector engines' operators; decides nothing itself."""
