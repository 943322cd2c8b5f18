"""The conformance suite of Ascend's TensorFlow adapter: cases, goldens, and the judge."""
