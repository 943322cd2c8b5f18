"""Package of the adapter's NPU modules; decides nothing itself."""
