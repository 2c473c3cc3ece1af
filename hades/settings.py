"""Settings: a YAML file, overridden by the environment, overridden by the caller.

The file is `config.yaml` in the user's configuration folder, or the file named by HADES_CONFIG.
pydantic-settings is not used because it takes four times as long to import, in every command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from hades.domain.address import is_address, is_server
from hades.errors import InvalidInput, Unavailable

PREFIX = "HADES_"
_URL = r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[^#\s]*)?"
"""The address of a server, without a user or a password."""


class ModelSetting(BaseModel):
    """A language model on an OpenAI-compatible server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    url: str = Field(pattern=rf"^{_URL}$")
    model: str = Field(min_length=1)
    key_variable: str | None = None
    """The environment variable that holds its key."""
    input_price: float | None = Field(None, ge=0)
    output_price: float | None = Field(None, ge=0)
    """The prices of a million tokens that it reads, and of a million that it writes."""
    timeout_s: float = Field(60.0, gt=0)
    retries: int = Field(2, ge=0, le=10)
    context_tokens: int = Field(8192, ge=256)

    def read_key(self) -> str | None:
        """Return the model's key from the environment; None if it has none."""
        return os.environ.get(self.key_variable or "", "").strip() or None


class Settings(BaseModel):
    """All settings. Each is also an environment variable: HADES_ and its name."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    path: str | None = Field(
        None,
        description="The memory file, a database (postgresql://user@host/name), or a server's "
        "address: http://host:8674, unix:///run/hades/rw.sock. Default: default.hades in the "
        "user's data folder.",
    )
    key: str | None = Field(
        None, description="The API key for a server on the network: `hades keys create` makes one."
    )
    space: str = Field("default", description="The space to work in.")
    actor: str | None = Field(
        None, description="The author of changes in the change log. Default: the user's login name."
    )
    encoder: str = Field(
        "minilm",
        description="The model that computes vectors: minilm (built in), folder:/path, "
        "openai:https://host/v1#MODEL.",
    )
    extractor: str | None = Field(
        None,
        description="How names are found in texts: names (built in) or spacy (the extra `spacy`). "
        "Default: the one this memory used last, or names.",
    )
    model: str | None = Field(
        None,
        pattern=rf"^openai:{_URL}#\S{{1,100}}$",
        description="The language model for `--model default`, in short form: "
        "openai:http://127.0.0.1:8080/v1#MODEL; its key is in HADES_MODEL_KEY. No model is "
        "called without `--model`.",
    )
    models: tuple[ModelSetting, ...] = Field(
        (),
        description="Language models, each with name, url and model, and optionally "
        "key_variable, input_price and output_price (per million tokens), timeout_s, retries, "
        "context_tokens. In the environment: as JSON. If one fails, the next one is called.",
    )
    trusted_authors: dict[str, tuple[str, ...]] = Field(
        {},
        description="For each space, the actors whose notes may change any fact without review: "
        '{"default": ["ann", "key:payroll"]}. In the environment: as JSON. '
        "Default: none.",
    )
    model_role: Literal["reader", "writer"] = Field(
        "writer",
        description="The least role that may make `hades serve` call a language model, which may "
        "cost money: writer or reader.",
    )
    busy_timeout_s: float = Field(
        10.0,
        ge=0,
        description="How many seconds a write waits for another process before it fails.",
    )
    hooks_idle_minutes: float = Field(
        15.0,
        gt=0,
        description="After how many minutes without an event the resident process of the hooks "
        "ends.",
    )
    library_workers: str = Field(
        "threads",
        description="What the volumes of a library run in: `threads`, `processes`, or actors of "
        "Ray, given as `local` or the host:port of a cluster.",
    )
    library_replicas: int = Field(
        1,
        ge=1,
        le=64,
        description="The number of processes or actors for each volume of a library; they answer "
        "in turn.",
    )
    ranker: Path | None = Field(
        None,
        description="The weights file of the ranker, made by `hades train-ranker`. "
        "Default: the weights in the package.",
    )
    threads: int | None = Field(
        None,
        ge=1,
        description="How many processor cores one question or ingestion may use. Default: all. "
        "Set 1 where several processes share the cores.",
    )
    ingest_seconds: float = Field(
        60.0,
        gt=0,
        description="How many seconds reading one document may take before it is skipped.",
    )
    ingest_memory_mb: int = Field(
        1024,
        ge=128,
        description="How many megabytes of memory reading one document may take (on Linux).",
    )
    ingest_text_mb: int = Field(
        64, ge=1, le=256, description="How many million characters (2^20) one document may have."
    )
    ingest_commits: int = Field(
        1000,
        ge=0,
        le=100_000,
        description="How many commit messages of a git repository are ingested, the newest first; "
        "0: none.",
    )
    memory_mb: int = Field(
        4096,
        ge=1,
        description="How many megabytes one process may use for the indexes of a memory in "
        "PostgreSQL. For a larger memory it reads only the part a question needs, about 60 MB.",
    )
    archive: str | None = Field(
        None,
        description="The first place for `hades archive` to put old texts: a folder, s3://…, "
        "gs://… or az://… (the extra `cluster`). Default: a folder beside the memory file.",
    )
    breaker_failures: int = Field(
        3,
        ge=1,
        description="After how many failures in a row a model server, an embedding server, object "
        "storage or PostgreSQL is left alone, so that calls fail at once.",
    )
    breaker_seconds: float = Field(
        30.0, gt=0, description="After how many seconds such a server is tried again."
    )
    answer_cache_mb: int = Field(
        16,
        ge=0,
        le=4096,
        description="How many megabytes of answers one process may keep, so that the same question "
        "to an unchanged memory is answered at once. 0 keeps none.",
    )
    query_log: int = Field(
        1_000,
        ge=0,
        le=1_000_000,
        description="How many questions of each space are kept with what they showed, so that "
        "feedback can refer to them. 0 keeps none.",
    )
    redis_url: str | None = Field(
        None,
        description="A Redis server in which several processes share kept answers: "
        "redis://host:6379/0, unix:///run/redis.sock (the extra `cluster`). Default: none.",
    )
    cache: Path | None = Field(
        None,
        description="The folder for data that can be rebuilt, such as memories of question sets. "
        "Default: the user's cache folder.",
    )
    listen_host: str | None = Field(
        None, description="The TCP address on which `hades serve` listens. Default: 127.0.0.1."
    )
    listen_port: int | None = Field(
        None, ge=0, le=65535, description="The TCP port of `hades serve`. Default: 8674."
    )
    ui: bool = Field(
        True, description="Whether `hades serve` has the pages of the explorer (extra `ui`)."
    )
    ro_socket: Path | None = Field(
        None, description="The unix socket of `hades serve` for reading only."
    )
    rw_socket: Path | None = Field(
        None, description="The unix socket of `hades serve` for reading and writing."
    )
    admin_socket: Path | None = Field(
        None, description="The unix socket of `hades serve` for operators."
    )
    otlp_endpoint: str | None = Field(
        None,
        description="The OTLP/HTTP address to which `hades serve` sends traces. "
        "Default: OTEL_EXPORTER_OTLP_ENDPOINT; without it no traces are sent.",
    )
    trace_contents: bool = Field(
        False, description="Whether traces of `hades serve` contain questions and contexts."
    )
    organise_every_hours: float | None = Field(
        None,
        gt=0,
        description="How often, in hours, `hades serve` runs `organise --if-due` for all spaces. "
        "Default: never.",
    )
    bridges_every_hours: float | None = Field(
        None,
        gt=0,
        description="How often, in hours, `hades serve` runs `refresh-bridges` for all spaces. "
        "Default: never.",
    )
    consolidate_every_hours: float | None = Field(
        None,
        gt=0,
        description="How often, in hours, `hades serve` runs `consolidate` for all spaces. "
        "Default: never.",
    )
    archive_every_hours: float | None = Field(
        None,
        gt=0,
        description="How often, in hours, `hades serve` runs `archive` for all spaces. "
        "Default: never.",
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto",
        description="The log format of `hades serve`: json, text, or auto (text on a terminal).",
    )

    @field_validator("models", "trusted_authors", mode="before")
    @classmethod
    def _of_environment(cls, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_models(self) -> Settings:
        names = [model.name for model in self.all_models()]
        if len({*names, "default"}) <= len(names):
            raise ValueError("names of models must differ, and none may be called default")
        return self

    def all_models(self) -> tuple[ModelSetting, ...]:
        """Return the language models in the order in which they are tried; `model` comes first."""
        if self.model is None:
            return self.models
        url, _, name = self.model.removeprefix("openai:").partition("#")
        named = {"name": name, "url": url, "model": name, "key_variable": "HADES_MODEL_KEY"}
        return (ModelSetting.model_validate(named), *self.models)

    @property
    def own_encoder(self) -> str | None:
        """The encoder to open memories with; None: each memory's own, by default the built-in."""
        return None if self.encoder == "minilm" else self.encoder

    def cache_folder(self) -> Path:
        """Return the folder for data that can be rebuilt; it may not exist yet."""
        if self.cache is not None:
            return self.cache.expanduser()
        return Path(platformdirs.user_cache_dir("hades", appauthor=False))

    def ready_path(self) -> Path | str:
        """Return the memory file or address of the settings; create the default file's folder."""
        if self.path is not None:
            elsewhere = is_address(self.path) or is_server(self.path)
            return self.path if elsewhere else Path(self.path)
        folder = Path(platformdirs.user_data_dir("hades", appauthor=False))
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise Unavailable(
                f"The folder {folder} cannot be created ({error.strerror}): set HADES_PATH."
            ) from error
        return folder / "default.hades"


@cache
def cores() -> int:
    """Return how many processor cores this process may use; the settings are read only once."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return load_settings().threads or usable or 1


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings, checked: the environment overrides the file, the file the defaults."""
    environment = os.environ if environment is None else environment
    path, named = _config_path(environment)
    values = _values_of(path) if path.exists() or named else {}
    for field in Settings.model_fields:
        if value := environment.get(PREFIX + field.upper()):
            values[field] = value
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        wrong = first["msg"]
        if first["type"] == "string_pattern_mismatch":  # pydantic's message would show the pattern
            meaning = Settings.model_fields[name.partition(".")[0]].description
            wrong = f"it is meant as “{meaning}”"
        raise InvalidInput(f"The setting {name!r} is wrong: {wrong.rstrip('.')}.") from error


def _config_path(environment: Mapping[str, str]) -> tuple[Path, bool]:
    if named := environment.get(PREFIX + "CONFIG"):
        return Path(named).expanduser(), True
    return Path(platformdirs.user_config_dir("hades", appauthor=False)) / "config.yaml", False


def _values_of(path: Path) -> dict[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise InvalidInput(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The settings file {path} is not YAML: {error}.") from error
    if not isinstance(values, dict):
        raise InvalidInput(f"The settings file {path} must be a list of `name: value` lines.")
    return values
