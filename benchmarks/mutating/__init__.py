"""Parts of `mutation.py`: forked processes, lines that cases run through, the changed reference, who is asked."""
