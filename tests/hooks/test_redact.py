"""Secrets are replaced before a text is stored; what only looks like one stays."""

from __future__ import annotations

from hades.hooks.redact import redact, redact_counted
from tests.hooks.secrets_corpus import look_alikes, secrets


def test_a_hundred_secrets_are_replaced() -> None:
    corpus = secrets()
    assert len(corpus) == 100
    assert [text for text, value in corpus if value in redact(text)] == []


def test_a_hundred_look_alikes_stay() -> None:
    corpus = look_alikes()
    assert len(corpus) == 100
    assert [text for text in corpus if redact(text) != text] == []


def test_the_text_around_a_secret_stays() -> None:
    text = 'DB_HOST=db.internal\nDB_PASSWORD="Tulip 42"\n'
    assert redact(text) == 'DB_HOST=db.internal\nDB_PASSWORD="[redacted]"\n'
    address = "postgresql://app:Tulip42@db.internal/main"
    assert redact_counted(address) == ("postgresql://app:[redacted]@db.internal/main", 1)
    assert redact(redact(text)) == redact(text)
