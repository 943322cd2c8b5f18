"""Asks the ``npu_bridge`` that an environment has installed, as a script would; needs nothing of the suite there.

Options are asked by constructing NPURunConfig and its objects and by opening sessions, values by running, placement by
the partition graphs that TensorFlow gives with RunMetadata. What an adapter has no way to tell is left out of an answer
and named as ``unseen``, and what cannot be asked is unsupported. Started with ``--watch FILE SCRIPT`` it runs a script
as users do, and writes what its session.run calls had where.
"""
