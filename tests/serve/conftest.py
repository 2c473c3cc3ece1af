"""What tests of the server share: a real one at real sockets, in a thread of its own."""

from served_making import served, serving

__all__ = ["served", "serving"]
