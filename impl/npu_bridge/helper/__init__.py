"""Package of the adapter's library loader; decides nothing itself."""
