"""Package of collective communication; decides nothing itself."""
