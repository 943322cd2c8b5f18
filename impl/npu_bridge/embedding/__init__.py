"""Package of embeddings kept by a service; decides nothing itself."""
