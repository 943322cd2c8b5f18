"""Parts of `fuzz.py`: what inputs are made of, the doors they are given to, how one is tried."""

import os

__all__ = ["ROOT"]

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
