"""What is shipped for operators parses, and names only what the server really has."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from making import recall as made_recall
from prometheus_client.parser import text_string_to_metric_families

import hades
from hades.serve.executor import Executor
from hades.serve.schedule import Schedule
from hades.serve.telemetry import Telemetry
from hades.serve.telemetry.metrics import ScheduleMetrics

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import reference  # noqa: E402

DEPLOY = ROOT / "deploy"
UNITS = [*sorted((DEPLOY / "systemd").glob("*.socket")), DEPLOY / "systemd" / "hades.service"]
OF_PROMETHEUS = {"up"}
WORDS_OF_PROMQL = re.compile(
    r"\b(?:sum|max|rate|deriv|delta|histogram_quantile|by|and|le|__rate_interval)\b"
)


def unit(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    return {name: dict(parser[name]) for name in parser.sections()}


def queries() -> list[str]:
    """Every query of the dashboard and the alerts."""
    board = json.loads((DEPLOY / "grafana" / "hades.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    return found + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def names_in(query: str) -> set[str]:
    """The series a query reads."""
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)", " ", query)
    bare = WORDS_OF_PROMQL.sub(" ", bare)
    return set(re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.sub(r"\b[\d.]+(?:e\d+)?\b", " ", bare)))


@pytest.fixture
def exposed(path: Path) -> dict[str, set[str]]:
    """Every series a server that was used shows, with its labels."""
    executor, telemetry = Executor.open(path), Telemetry()
    telemetry.watch(executor, lambda: {"done": 1})
    tasks = Schedule(executor, dict.fromkeys(("organise", "archive"), 1.0)).tasks
    telemetry.metrics.registry.register(ScheduleMetrics(tasks))
    asked = made_recall("Why?")
    telemetry.observe_recall(asked, "default")
    telemetry.metrics.count("stage_stopped", "walk")
    telemetry.metrics.observe_call("recall", "RO", 200, 0.01)
    with pytest.MonkeyPatch.context() as environment:
        nobody = {"name": "a", "url": "http://127.0.0.1:1/v1", "model": "m", "retries": 0}
        environment.setenv("HADES_MODELS", json.dumps([nobody]))
        assert executor.memory.models(check=True)[0].answers is False
    executor.memory.search("anything")
    shown = telemetry.metrics.render().decode()
    executor.close()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(shown):
        for one in family.samples:
            found.setdefault(one.name, set()).update(one.labels)
    return found


def test_every_query_reads_series_the_server_shows(exposed: dict[str, set[str]]) -> None:
    for query in queries():
        names = names_in(query)
        assert names, query
        assert names <= set(exposed) | OF_PROMETHEUS, query


def test_every_label_in_a_query_is_one_its_series_have(exposed: dict[str, set[str]]) -> None:
    of_prometheus = {"job", "le"}
    for query in queries():
        labels = set(re.findall(r"(\w+)\s*(?:=~|!=|=)\s*\"", query))
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            labels |= {name.strip() for name in group.split(",")}
        had = set().union(*(exposed.get(name, set()) for name in names_in(query)))
        assert labels - of_prometheus <= had, query


def test_reasons_and_states_in_queries_are_real() -> None:
    text = " ".join(queries())
    assert set(re.findall(r'reason="(\w+)"', text)) <= {reason.value for reason in hades.Reason}
    assert set(re.findall(r'state="([\w-]+)"', text)) <= {"closed", "half-open", "open"}


def test_every_family_of_ours_is_on_the_dashboard(exposed: dict[str, set[str]]) -> None:
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed}
    on_board = {
        re.sub(r"_(bucket|sum|count)$", "", name) for q in queries() for name in names_in(q)
    }
    assert {name for name in families if name.startswith("hades_")} <= on_board


def test_the_reference_names_every_family(exposed: dict[str, set[str]]) -> None:
    page = reference.pages()[reference.REFERENCE / "metrics.md"]
    told = set(re.findall(r"^\| `(hades_[a-z_]+)", page, re.MULTILINE))
    shown = {re.sub(r"_(bucket|sum|count)$", "", one) for one in exposed if one[:6] == "hades_"}
    assert told == shown


def test_the_reference_names_every_alert() -> None:
    page = reference.pages()[reference.REFERENCE / "metrics.md"]
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    names = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert set(re.findall(r"^\| (Hades\w+) \|", page, re.MULTILINE)) == names


def test_the_dashboard_is_what_its_list_makes() -> None:
    import dashboard

    assert dashboard.FILE.read_text(encoding="utf-8") == dashboard.dashboard(), (
        "run tools/dashboard.py"
    )


def test_panels_do_not_overlap() -> None:
    board = json.loads((DEPLOY / "grafana" / "hades.json").read_text(encoding="utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        places = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not places & taken, panel["title"]
        taken |= places
        assert at["x"] + at["w"] <= 24


# systemd


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for path in UNITS:
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", path.read_text(), flags=re.M)
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / path.name) for path in UNITS)],
        capture_output=True,
        text=True,
    )
    told = [line for line in done.stderr.splitlines() if "hades" in line]
    assert done.returncode == 0, done.stderr
    assert told == []


def test_the_service_is_locked_in() -> None:
    service = unit(DEPLOY / "systemd" / "hades.service")["Service"]
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictSUIDSGID"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["RestrictAddressFamilies"] == "AF_UNIX AF_INET AF_INET6"
    assert service["CapabilityBoundingSet"] == ""
    assert service["IPAddressDeny"] == "any"
    assert service["User"] == "hades"


def test_its_sockets_are_the_ones_it_asks_for() -> None:
    service = unit(DEPLOY / "systemd" / "hades.service")
    named = service["Service"]["Sockets"].split()
    assert sorted(named) == sorted(path.name for path in UNITS if path.suffix == ".socket")
    modes = {}
    for name in named:
        socket = unit(DEPLOY / "systemd" / name)["Socket"]
        assert socket["Service"] == "hades.service"
        modes[socket["FileDescriptorName"]] = socket["SocketMode"]
    assert modes == {"ro": "0660", "rw": "0600", "admin": "0600"}


# Containers


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def test_the_image_is_pinned_small_not_root_and_watched() -> None:
    found = instructions()
    known = "FROM RUN COPY ENV USER WORKDIR VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD"
    assert {name for name, _ in found} <= set(known.split())
    bases = [rest.split()[0] for name, rest in found if name == "FROM"]
    assert all(re.fullmatch(r"[\w/]+:[\d.]+-slim", base) for base in bases)
    final = found[max(n for n, (name, _) in enumerate(found) if name == "FROM") :]
    users = [rest for name, rest in final if name == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    assert any(name == "HEALTHCHECK" and "/healthz" in rest for name, rest in final)
    for name, rest in final:
        if name in ("ENTRYPOINT", "CMD"):
            assert isinstance(json.loads(rest), list), "a shell would swallow signals"
        if name == "COPY" and not rest.startswith("--from"):
            assert (ROOT / rest.split()[0]).exists()


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def test_compose_mounts_what_is_there_and_listens_on_this_machine_only() -> None:
    whole = compose()
    for name, service in whole["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert set(service.get("secrets", ())) <= set(whole["secrets"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            there = (
                (DEPLOY / source).exists() if source.startswith(".") else source in whole["volumes"]
            )
            assert there, f"{name}: {volume}"
    build = whole["services"]["hades"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).exists()
    optional = {name for name, service in whole["services"].items() if "profiles" in service}
    assert optional == {"prometheus", "grafana"}


def test_the_server_in_a_container_may_do_little() -> None:
    server = compose()["services"]["hades"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["security_opt"] == ["no-new-privileges:true"]


def test_prometheus_asks_the_server_with_a_key_and_knows_the_alerts() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "hades"
    assert job["static_configs"][0]["targets"] == ["hades:8674"]
    assert job["authorization"]["credentials_file"] == "/run/secrets/reader_key"
    assert [(DEPLOY / name).exists() for name in config["rule_files"]] == [True]


def test_grafana_finds_the_dashboard_and_its_source() -> None:
    folder = DEPLOY / "grafana" / "provisioning"
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())[
        "datasources"
    ]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((folder / "dashboards" / "hades.yaml").read_text())["providers"]
    mounts = [volume.split(":")[1] for volume in compose()["services"]["grafana"]["volumes"]]
    assert f"{provider['options']['path']}/hades.json" in mounts


def test_the_version_is_shown(exposed: dict[str, set[str]]) -> None:
    assert exposed["hades_info"] == {"version"}
    assert hades.__version__
