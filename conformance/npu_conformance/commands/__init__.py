"""One module a command: reads arguments, calls one function, renders, and sets the exit status."""
