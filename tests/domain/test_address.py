"""What messages show of an address never holds a password or a key."""

from __future__ import annotations

import pytest

import hades
from hades.domain.address import without_password
from hades.store.copy import copy

ADDRESSES = [
    "postgresql://u:SECRET@h:1/notes",
    "postgresql://u:a@SECRET@127.0.0.1:1/notes",
    "postgresql://u:p?SECRET@127.0.0.1:1/notes",
    "postgresql://u@127.0.0.1:1/notes?password=SECRET",
    "postgresql+psycopg://u:SECRET@h/notes",
    "mysql://u:SECRET@h/notes",
    "http://:SECRET@127.0.0.1:8674",
    "host=h password=SECRET",
    "host=h password='SECRET words'",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_message_shows_a_password(address: str) -> None:
    assert "SECRET" not in without_password(address)
    if "://" in address:
        with pytest.raises(hades.HadesError) as refused:
            copy(address, address)
        assert "SECRET" not in str(refused.value)


def test_the_rest_of_an_address_is_shown() -> None:
    for shown in ("postgresql://ann@/notes?host=/run/pg&schema=a", "https://h:1/x", "notes.hades"):
        assert without_password(shown) == shown
