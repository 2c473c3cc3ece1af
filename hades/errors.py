"""What can go wrong, as a tree.

HadesError
├── NotFound       the space, topic, version or edge asked for is not there
├── Conflict       somebody changed it first, or it exists already
├── InvalidInput   the call itself is wrong; nothing was written
├── Denied         not allowed: a read-only view, file or key
├── Unavailable    cannot be done right now: busy, full disk, too new a file
└── Corrupt        the stored data is damaged

Every message is one sentence that says what to do next.
"""


class HadesError(Exception):
    """The root: catch this to catch everything HADES raises on purpose."""


class NotFound(HadesError):
    """The space, topic, version or edge asked for is not there."""


class Conflict(HadesError):
    """Somebody changed it first, or it exists already."""


class InvalidInput(HadesError):
    """The call itself is wrong; nothing was written."""


class Denied(HadesError):
    """Not allowed: a read-only view, file or key."""


class Unavailable(HadesError):
    """Cannot be done right now: a busy writer, a full disk, a file from a newer version."""


class Corrupt(HadesError):
    """The stored data is damaged; `hades check` says how to repair it."""
