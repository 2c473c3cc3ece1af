"""Authentication of callers, their rights, the limits of requests, and the audit log."""
