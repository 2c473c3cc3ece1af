"""Who is calling, what they may do, how often; and the audit log of it."""
