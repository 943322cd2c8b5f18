"""Package of profiles taken by a script; decides nothing itself."""
