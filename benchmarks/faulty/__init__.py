"""Faulty backends written by hand by the documents' sentences; no case was looked at, or written for them."""
