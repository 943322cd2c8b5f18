"""Package of graphs shared by scopes; decides nothing itself."""
