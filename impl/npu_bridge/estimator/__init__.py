"""Package of the adapter's Estimator and operator modules; decides nothing itself."""
