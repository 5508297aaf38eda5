# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.responses import Response

from headrace.broker.free_port import free_port
from headrace.cli.ctl.address import Address, find_address
from headrace.cli.ctl.ctl_error import CtlError
from headrace.rest.app import create_app
from tests.unit.cli.ctl.conftest import Cluster, Commands
from tests.unit.rest.conftest import Certificates, ServedApi


def written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


CONTEXTS = 'current = "a"\n[contexts.a]\nurl = "http://a:1/"\ntoken_env = "TOKEN"\n[contexts.b]\nurl = "http://b:1"\n'


def test_precedence(contexts_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_address(None, None) == Address("http://127.0.0.1:8083", {}, "the default")
    written(contexts_file, CONTEXTS)
    assert find_address(None, None).url == "http://a:1"
    monkeypatch.setenv("HEADRACE_URL", "http://env:1/connect/")
    assert find_address(None, None) == Address("http://env:1/connect", {}, "HEADRACE_URL")
    assert find_address(None, "b").url == "http://b:1"
    assert find_address("http://u%40:p@option:1", None) == Address(
        "http://option:1", {"username": "u@", "password": "p"}, "--url"
    )
    with pytest.raises(CtlError, match="cannot both be given"):
        find_address("http://x:1", "b")


@pytest.mark.parametrize("url", ["localhost:8083", "ftp://h", "http://", "http://h:99999", "http://[h"])
def test_urls_that_are_none(url: str, commands: Commands) -> None:
    code, out, err = commands.run("connectors", "ls", "--url", url)
    assert (code, out) == (2, "")
    assert err == f"Error: Invalid URL '{url}' (--url)\nExpected is an address such as http://127.0.0.1:8083\n"


def test_contexts_are_written_and_read(commands: Commands, contexts_file: Path) -> None:
    commands.environment = {}
    assert commands.run("context", "ls")[0] == 0
    assert commands.run("context", "set", "local", "--url", commands.url)[0] == 0
    more = ("--url", "https://c.example.org", "--username", 'a "b" é', "--password-env", "PW", "--no-verify")
    assert commands.run("context", "set", "pro duction", *more)[0] == 0
    assert tomllib.loads(contexts_file.read_text()) == {
        "current": "local",
        "contexts": {
            "local": {"url": commands.url},
            "pro duction": {
                "url": "https://c.example.org",
                "username": 'a "b" é',
                "password_env": "PW",
                "verify": False,
            },
        },
    }
    assert contexts_file.stat().st_mode & 0o777 == 0o600
    assert commands.run("connectors", "ls", "-o", "name") == (0, "orders\n", "")
    assert commands.run("context", "use", "pro duction")[0] == 0
    assert commands.run("context", "set", "local", "--ca", "")[0] == 0
    assert commands.run("context", "ls")[1].splitlines()[2].startswith("*  pro duction  https://c.example.org")
    assert commands.run("context", "delete", "pro duction", "--yes")[0] == 0
    assert "current" not in tomllib.loads(contexts_file.read_text())


def test_secrets_that_the_user_has_written_are_not_shown(commands: Commands, contexts_file: Path) -> None:
    written(contexts_file, '[contexts.a]\nurl = "http://a:1"\nusername = "u"\npassword = "geheim"\n')
    for output in ("table", "json", "yaml"):
        assert "geheim" not in commands.run("context", "ls", "-o", output)[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("current = [", "is not valid TOML"),
        ("contexts = 1", "expected are current and the tables"),
        ("curent = 'a'", "Not known: curent"),
        ("[contexts.a]\nuri = 'x'", "invalid setting uri in [contexts.a]"),
        ("[contexts.a]\nverify = 'no'", "invalid setting verify in [contexts.a]"),
    ],
)
def test_a_file_that_is_none(commands: Commands, contexts_file: Path, text: str, said: str) -> None:
    written(contexts_file, text)
    commands.environment = {}
    code, out, err = commands.run("connectors", "ls")
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) <= 2


def test_an_unknown_context(commands: Commands, contexts_file: Path) -> None:
    written(contexts_file, CONTEXTS)
    said = "Error: There is no context 'c'. Contexts: a, b\nAdd it with: headrace context set c --url URL\n"
    assert commands.run("connectors", "ls", "--context", "c") == (3, "", said)


@pytest.mark.parametrize(
    "command", [("connectors", "ls", "--context"), ("context", "use"), ("context", "delete", "--yes")]
)
def test_a_near_context_is_proposed(commands: Commands, contexts_file: Path, command: tuple[str, ...]) -> None:
    written(contexts_file, "[contexts.production]")
    code, out, err = commands.run(*command, "prodction")
    assert (code, out, err.splitlines()[1:]) == (3, "", ["Did you mean 'production'?"])


def test_no_worker_answers(commands: Commands) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, out, err = commands.run("connectors", "ls", "--url", url)
    assert (code, out) == (4, "")
    said, remedy = err.splitlines()
    assert said == f"Error: No answer from {url} (--url): Connection refused"
    assert len(said.replace(url, "http://127.0.0.1:8083").replace("--url", "the default")) <= 80
    assert remedy == "Start a worker there, or name another: --url, --context or HEADRACE_URL"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Response(status_code=204), "does not answer as a worker of Kafka Connect"),
        (Response("<html>"), "does not answer as a worker of Kafka Connect"),
        (Response(status_code=302, headers={"Location": "https://x/"}), "refers to https://x/"),
        (Response("<html>", status_code=502), "HTTP 502 Bad Gateway"),
    ],
)
def test_what_is_no_worker(
    serve_api: Callable[..., ServedApi], commands: Commands, answer: Response, said: str
) -> None:
    url = serve_api({}, lambda _: answer).url
    code, out, err = commands.run("connectors", "ls", "--url", url)
    assert (code, out, said in err.splitlines()[0]) == (1, "", True), err


def test_passwords(
    serve_api: Callable[..., ServedApi],
    commands: Commands,
    cluster: Cluster,
    contexts_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "users").write_text("ann=secret\n")
    properties = {"rest.authentication": "basic", "rest.basic.auth.credentials.file": str(tmp_path / "users")}
    url = serve_api(properties, lambda _: create_app(cluster, request_timeout=1), cluster).url
    commands.environment = {}
    table = f'current = "a"\n[contexts.a]\nurl = "{url}"\n'

    written(contexts_file, table)
    code, _, err = commands.run("connectors", "ls")
    assert (code, err.splitlines()[1]) == (5, "Name a user: headrace context set NAME --url URL --username USER")

    written(contexts_file, f'{table}username = "ann"\n')
    code, _, err = commands.run("connectors", "ls", "-o", "name", input="secret\n")
    assert (code, err.startswith(f"Password of ann at {url}:")) == (0, True)
    assert commands.run("connectors", "ls", input="wrong\n")[0] == 5

    written(contexts_file, f'{table}username = "ann"\npassword_env = "PW"\n')
    code, _, err = commands.run("connectors", "ls")
    assert (code, err) == (2, "Error: The environment variable PW is not set (context a, password_env)\n")
    monkeypatch.setenv("PW", "secret")
    assert commands.run("connectors", "ls", "-o", "name") == (0, "orders\n", "")

    (tmp_path / "password").write_text("secret\n")
    written(contexts_file, f'{table}username = "ann"\npassword_file = "{tmp_path}/password"\n')
    assert commands.run("connectors", "ls", "-o", "name") == (0, "orders\n", "")
    # The context's login is for its own address.
    assert commands.run("connectors", "ls", "--url", url)[0] == 5
    assert commands.run("connectors", "ls", "--url", url.replace("://", "://ann:secret@"), "-o", "name")[0] == 0


def test_tls(
    serve_api: Callable[..., ServedApi],
    commands: Commands,
    cluster: Cluster,
    certificates: Certificates,
    tmp_path: Path,
) -> None:
    properties = {
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.worker,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca,
        "ssl.client.auth": "required",
    }
    api = serve_api(properties, lambda _: create_app(cluster, request_timeout=1), cluster)
    commands.environment = {}
    commands.run(
        "context", "set", "tls", "--url", api.url, "--ca", certificates.ca, "--certificate", certificates.client
    )
    code, out, err = commands.run("connectors", "ls", "-o", "name")
    assert (code, out, err) == (0, "orders\n", "")
    commands.run("context", "set", "tls", "--ca", "")
    code, _, err = commands.run("loggers", "get")
    assert (code, "certificate verify failed" in err) == (4, True)
    commands.run("context", "set", "tls", "--no-verify")
    assert commands.run("loggers", "get", "-o", "json")[0] == 0
    commands.run("context", "set", "tls", "--ca", str(tmp_path / "none"))
    code, _, err = commands.run("loggers", "get")
    assert (code, err.startswith("Error: Files for TLS cannot be used (context tls, ca=")) == (2, True)


def test_completion_of_connectors(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["other"] = {}
    commands.environment |= {
        "_HEADRACE_COMPLETE": "complete_bash",
        "COMP_WORDS": "headrace connectors get o",
        "COMP_CWORD": "3",
    }
    assert commands.run()[1].split() == ["orders", "other"]
    commands.environment["HEADRACE_URL"] = f"http://127.0.0.1:{free_port()}"
    assert commands.run()[1].split() == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("connectors describe ord", "orders"),
        ("connectors descr", "describe"),
        ("connectors create --fi", "--file"),
        ("loggers set root d", "debug"),
        ("loggers set root W", "WARN"),
        ("logs orders --level de", "debug"),
        ("context use prod", "production"),
    ],
)
def test_completion_of_other_shells(
    commands: Commands, contexts_file: Path, shell: str, typed: str, completed: str
) -> None:
    written(contexts_file, "[contexts.production]")
    commands.environment |= {
        "_HEADRACE_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": f"headrace {typed}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert re.findall(r"[\w-]+", commands.run()[1].removeprefix("_arguments '*: :(("))[0] == completed


def imported_by(*args: str, **environment: str) -> set[str]:
    shows = "print(*sys.modules, file=sys.stderr)"
    code = f"import sys\nfrom headrace.cli.main import app\ntry:\n    app(sys.argv[1:])\nfinally:\n    {shows}"
    run = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    return {name.partition(".")[0] for name in run.stderr.splitlines()[-1].split()}


HEAVY = {"pyspark", "confluent_kafka", "kafka", "fastapi", "starlette", "uvicorn", "pandas", "pyarrow", "numpy"}


def test_commands_import_little(commands: Commands) -> None:
    assert imported_by("--version") & {*HEAVY, "httpx2", "yaml", "cryptography"} == set()
    assert imported_by("connectors", "ls", **commands.environment) & HEAVY == set()


@pytest.mark.parametrize(
    ("path", "status", "body", "code", "said"),
    [
        ("", 404, "<html>", 1, "answers HTTP 404 Not Found to /connectors"),
        (
            "",
            404,
            '{"error_code": 404, "message": "HTTP 404 Not Found"}',
            3,
            "answers HTTP 404 Not Found to /connectors",
        ),
        ("/api", 502, "<html>", 1, "answers HTTP 502 Bad Gateway to /api/connectors"),
        ("", 200, "[1, 2]", 1, "does not answer as a worker of Kafka Connect"),
        ("", 200, '{"subjects": 1}', 1, "does not answer as a worker of Kafka Connect"),
    ],
)
def test_the_address_of_another_server(
    serve_api: Callable[..., ServedApi],
    commands: Commands,
    path: str,
    status: int,
    body: str,
    code: int,
    said: str,
) -> None:
    answer = Response(body, status_code=status, media_type="application/json")
    url = serve_api({}, lambda _: answer).url + path
    for command in (("connectors", "ls"), ("cluster",), ("top", "--once")):
        found, out, err = commands.run(*command, "--url", url)
        assert (found, out) == (code, ""), err
        assert err.startswith(f"Error: {url} (--url) {said.removesuffix('/connectors')}")


def test_a_worker_without_tls(commands: Commands) -> None:
    url = commands.url.replace("http:", "https:")
    code, _, err = commands.run("connectors", "ls", "--url", url)
    assert (code, err.splitlines()[1]) == (4, f"Perhaps it has no TLS: try {commands.url}")


def test_files_of_a_context_are_found_from_all_directories(
    commands: Commands, contexts_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    given = ("--ca", "ca.pem", "--certificate", "~/client.pem", "--password-file", "/run/password")
    assert commands.run("context", "set", "a", "--url", commands.url, *given)[0] == 0
    settings = tomllib.loads(contexts_file.read_text())["contexts"]["a"]
    assert settings["ca"] == str(tmp_path / "ca.pem")
    assert settings["certificate"] == str(tmp_path / "home" / "client.pem")
    assert settings["password_file"] == "/run/password"


def test_a_password_that_no_terminal_can_ask_for(commands: Commands, contexts_file: Path) -> None:
    written(contexts_file, f'current = "a"\n[contexts.a]\nurl = "{commands.url}"\nusername = "ann"\n')
    environment = {key: text for key, text in os.environ.items() if key != "HEADRACE_URL"}
    command = (sys.executable, "-m", "headrace", "connectors", "ls")
    ended = subprocess.run(
        command, input="secret\n", capture_output=True, text=True, env=environment, start_new_session=True
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "There is no terminal to ask for the password of ann (context a)" in ended.stderr
    assert "echoed" not in ended.stderr


def test_a_wrong_password(
    serve_api: Callable[..., ServedApi], commands: Commands, cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "users").write_text("ann=secret\n")
    properties = {"rest.authentication": "basic", "rest.basic.auth.credentials.file": str(tmp_path / "users")}
    url = serve_api(properties, lambda _: create_app(cluster, request_timeout=1), cluster).url
    code, _, err = commands.run("connectors", "ls", "--url", url.replace("://", "://ann:wrong@"))
    assert (code, err.splitlines()[1]) == (5, "Check the password of ann (--url)")


def test_a_full_disk(commands: Commands) -> None:
    environment = {**os.environ, "HEADRACE_URL": commands.url}
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            (sys.executable, "-m", "headrace", "connectors", "ls"), stdout=full, stderr=subprocess.PIPE, env=environment
        )
    assert (ended.returncode, ended.stderr) == (1, b"Error: No space left on device\n")
