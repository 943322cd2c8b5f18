"""Package of the device CPU's operators; decides nothing itself."""
