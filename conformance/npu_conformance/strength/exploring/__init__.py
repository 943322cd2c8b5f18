"""Random questions to a backend and to the reference: where they differ, a smallest question becomes a draft case."""
