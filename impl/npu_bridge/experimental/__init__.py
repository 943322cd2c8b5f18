"""Package of operators that may change; decides nothing itself."""
