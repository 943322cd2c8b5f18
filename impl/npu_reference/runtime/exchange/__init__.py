"""How ranks hand each other data: threads of one process, or processes of one machine. Nothing here needs TensorFlow.

Ranks meet in a :class:`~npu_reference.runtime.exchange.meeting.Meeting`, either directly or through a socket.
"""
