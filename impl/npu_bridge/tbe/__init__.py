"""Package of the cube engine's operators; decides nothing itself."""
