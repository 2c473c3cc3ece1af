"""Secrets are replaced before a text is stored; what only looks like one stays."""

from __future__ import annotations

from hades.language.redact import PREFIXES, redact, redact_counted
from tests.hooks import secret_forms
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


def test_forms_that_others_use_are_replaced() -> None:
    """No eight characters of a value stay, since half a key may be enough."""
    forms = secret_forms.secrets()
    assert len(forms) == 251
    survive = []
    for name, text, values in forms:
        redacted = redact(text)
        parts = {value[at : at + 8] for value in values for at in range(max(1, len(value) - 7))}
        survive += [name] if any(part in redacted for part in parts) else []
    assert survive == []


def test_what_resembles_these_forms_stays() -> None:
    texts = secret_forms.look_alikes()
    assert len(texts) == 151
    assert [text for text in texts if redact(text) != text] == []


def test_quotes_and_marks_around_a_value_stay() -> None:
    value = secret_forms.filled("{p14}")
    for form in (
        r"{\"user\":\"bob\",\"password\":\"«»\",\"port\":5}",
        "<db><password>«»</password></db>",
        "CREATE USER app IDENTIFIED BY '«»';",
        "password: |\n    «»\nport: 5432",
        "os.environ['X_TOKEN']='«»'",
    ):
        assert redact(form.replace("«»", value)) == form.replace("«»", "[redacted]")


def test_a_table_of_keys_has_no_row_that_another_hides() -> None:
    lines = PREFIXES.read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines if not line.startswith("#")]
    assert {len(row) for row in rows} == {4}
    assert len({prefix for _, prefix, _, _ in rows}) == len(rows) >= 180
