"""Worker protocol 1: messages, schemas, and the client that asks a worker."""
