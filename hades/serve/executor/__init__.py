"""The desk: calls from many callers, carried by a few threads to one memory."""
