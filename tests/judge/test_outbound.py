"""The way to a judge's server: proxies and certificates of the user's environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from judge.address import read_address
from judge.call_error import CallError
from judge.chat import ChatJudge
from judge.client import ChatClient
from judge.errors import JudgeSetupError, JudgeUsageError
from judge.lifecycle import probe_judge
from judge.outbound import proxy_for
from judge.prompt import policy_template
from tests.support.endpoints import MODEL, Time
from tests.support.judge_server import judge_server
from tests.support.tls import https_server, make_certificate

if TYPE_CHECKING:
    from pathlib import Path

_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def _no_way(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def _judge(url: str) -> ChatJudge:
    return ChatJudge(ChatClient(url), policy_template("release"), model=MODEL, pace=Time().pace)


@pytest.mark.parametrize(
    ("variable", "value", "url", "proxy"),
    [
        ("http_proxy", "http://p:1", "http://h", "http://p:1"),
        ("HTTP_PROXY", "p:1", "http://h", "http://p:1"),
        ("https_proxy", "http://p:1", "http://h", None),
        ("all_proxy", "http://p:1", "https://h", "http://p:1"),
        ("http_proxy", "http://p:1", "http://127.9.9.9", None),
        ("http_proxy", "http://p:1", "http://localhost", None),
        ("all_proxy", "http://p:1", "http://[::1]:80", None),
        ("all_proxy", "http://p:1", "http://0.0.0.0:80", None),
    ],
)
def test_a_proxy_of_the_environment_is_used_except_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, url: str, proxy: str | None
) -> None:
    monkeypatch.setenv(variable, value)

    found = proxy_for(read_address(url))

    assert (found.url if found else None) == proxy


def test_a_host_that_no_proxy_names_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://p:1")
    monkeypatch.setenv("no_proxy", "judge.test")

    assert proxy_for(read_address("http://judge.test")) is None
    assert proxy_for(read_address("http://other.test")) is not None


async def test_a_proxy_that_is_not_there_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://me:s3cret@127.0.0.1:1")
    judge = _judge("http://judge.test")

    says = (
        r"^address: .*through the proxy 'http://me:\*\*\*@127\.0\.0\.1:1' of http_proxy .*running\?"
    )
    with pytest.raises(JudgeSetupError, match=says) as unfit:
        await probe_judge(judge)
    await judge.aclose()

    assert "s3cret" not in str(unfit.value)


async def test_a_proxy_that_answers_in_the_servers_place_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with judge_server() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with ChatClient("http://judge.test") as client:
            with pytest.raises(CallError, match=r"fell over, asked through the proxy .*http_p"):
                await client.complete({"messages": [{"content": "?"}]})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://me:s3cret@127.0.0.1:1"),
        ("http_proxy", "foo://127.0.0.1:1"),
        ("http_proxy", "http://bad host:x"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SystemExit) as ended:
        main(("judge", "check", "--judge", "vllm", "--url", "http://judge.test"))

    err = capsys.readouterr().err
    assert ended.value.code == ExitStatus.USAGE
    assert variable.lower() in err
    assert "s3cret" not in err


def test_a_port_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("judge", "check", "--judge", "vllm", "--url", "http://127.0.0.1:99999"))

    assert ended.value.code == ExitStatus.USAGE
    assert "judge address 'http://127.0.0.1:99999'" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_file_of_certificates_that_cannot_be_used_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content, encoding="ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))

    with pytest.raises(JudgeUsageError, match="SSL_CERT_FILE"):
        ChatClient("https://judge.test")


async def test_a_certificate_that_is_not_trusted_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    with https_server(certificate) as port:
        judge = _judge(f"https://127.0.0.1:{port}")
        with pytest.raises(
            JudgeSetupError, match=r"^address: .*not trusted here: .*SSL_CERT_FILE$"
        ):
            await probe_judge(judge)
        await judge.aclose()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        judge = _judge(f"https://localhost:{port}")
        with pytest.raises(JudgeSetupError, match=r"^address: .*certificate is for another name"):
            await probe_judge(judge)
        await judge.aclose()


async def test_a_file_of_certificates_holds_for_this_machine_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    with https_server(certificate) as port:
        async with ChatClient(f"https://127.0.0.1:{port}") as client:
            served = await client.models()

    assert [entry.name for entry in served] == ["m"]


async def test_a_server_that_speaks_no_https_is_told_so() -> None:
    with judge_server() as server:
        async with ChatClient(server.url.replace("http:", "https:")) as client:
            with pytest.raises(CallError) as failed:
                await client.models()

    assert (
        failed.value.advice == "does the server speak https? give the address with http:// if not"
    )
