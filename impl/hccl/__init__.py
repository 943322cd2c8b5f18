"""Management of ranks and groups, as HCCL offers it in Python; decides nothing itself."""
