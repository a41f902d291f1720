"""`hil-mcp judge serve`: the options it chooses, and a server started, awaited and ended."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.errors import ConfigError
from hil_mcp.vllm_plan import Gpu, answering_url, plan_server, read_cpu_flags, read_gpus
from judge.build import REFERENCE_MODEL
from tests.support.fake_vllm import fake_vllm
from tests.support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.vllm_plan import ServerPlan

A100 = Gpu(name="A100", memory_gib=80.0)
T4 = Gpu(name="T4", memory_gib=15.0)


def _plan(model: str, gpus: Sequence[Gpu]) -> ServerPlan:
    return plan_server(model, gpus, python="python", host="127.0.0.1", port=8808)


def _option(plan: ServerPlan, name: str) -> str | None:
    command = list(plan.command)
    return command[command.index(name) + 1] if name in command else None


@pytest.mark.parametrize(
    ("model", "gpus", "quantisation", "parallel"),
    [
        (REFERENCE_MODEL, [A100], "awq_marlin", "1"),
        (REFERENCE_MODEL, [Gpu(name="A6000", memory_gib=48.0)], "awq_marlin", "1"),
        (REFERENCE_MODEL, [T4] * 4, "awq_marlin", "4"),
        ("meta-llama/Llama-3.3-70B-Instruct", [A100] * 3, None, "2"),
        ("meta-llama/Llama-3.3-70B-Instruct", [A100] * 8, None, "2"),
        ("org/model-70b-fp8", [A100] * 2, None, "1"),
        ("org/model-32b-GPTQ-Int4", [T4] * 2, "gptq_marlin", "2"),
        ("org/a-model-of-unknown-size", [T4] * 3, None, "2"),
    ],
)
def test_quantisation_and_parallelism_follow_from_model_and_gpus(
    model: str, gpus: list[Gpu], quantisation: str | None, parallel: str
) -> None:
    plan = _plan(model, gpus)

    assert _option(plan, "--quantization") == quantisation
    assert _option(plan, "--tensor-parallel-size") == parallel
    assert "--enable-prefix-caching" in plan.command
    assert _option(plan, "--max-model-len") == "8192"


def test_a_model_that_does_not_fit_is_refused_with_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"needs about 134 GiB .* 1 x 80 GiB .*quantised"):
        _plan("meta-llama/Llama-3.3-70B-Instruct", [A100])


def test_without_a_gpu_the_options_are_those_of_a_cpu_build() -> None:
    plan = _plan("org/small-1b", [])

    assert "--enforce-eager" in plan.command
    assert _option(plan, "--tensor-parallel-size") is None
    assert plan.environment["VLLM_CPU_KVCACHE_SPACE"] == "2"


@pytest.mark.parametrize(
    ("cpu_info", "dtype"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512_bf16\n", "bfloat16"),
        ("processor\t: 0\nFeatures\t: fp asimd bf16\n", "bfloat16"),
        ("processor\t: 0\nflags\t\t: fpu avx2\nbugs\t\t: bf16\n", "float32"),
        ("", "float32"),
    ],
)
def test_a_processor_without_bfloat16_computes_in_single_precision(
    cpu_info: str, dtype: str
) -> None:
    flags = read_cpu_flags(cpu_info)

    plan = plan_server(
        "org/small-1b", [], python="python", host="127.0.0.1", port=8808, cpu_flags=flags
    )

    assert _option(plan, "--dtype") == dtype
    assert dtype in plan.notes[0]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8808"),
        ("judge.lab", "http://judge.lab:8808"),
        ("0.0.0.0", "http://127.0.0.1:8808"),
        ("::", "http://[::1]:8808"),
        ("fd00::7", "http://[fd00::7]:8808"),
    ],
)
def test_the_address_told_is_one_that_a_judge_can_ask(host: str, url: str) -> None:
    assert answering_url(host, 8808) == url


def test_gpus_are_read_from_the_drivers_tool() -> None:
    text = "NVIDIA A100-SXM4-80GB, 81920\nTesla T4, 15360\nbroken, [N/A]\n\n"

    assert [(gpu.name, gpu.memory_gib) for gpu in read_gpus(text)] == [
        ("NVIDIA A100-SXM4-80GB", 80.0),
        ("Tesla T4", 15.0),
    ]


def _tool(folder: Path, script: str) -> str:
    folder.mkdir()
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(folder)


def test_a_dry_run_prints_the_command_and_makes_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", _tool(tmp_path / "bin", "echo 'A100, 81920'"), prepend=":")

    with pytest.raises(SystemExit) as ended:
        main(["judge", "serve", "--dry-run", "--served-name", "judge"])

    out, err = capsys.readouterr()
    assert ended.value.code == ExitStatus.DONE
    assert f"--model {REFERENCE_MODEL}" in out
    assert "--served-model-name judge" in out
    assert "--quantization awq_marlin" in out
    assert f"VLLM_API_KEY=(from {home / 'judge-api-key'})" in out
    assert "A100" in err
    assert not home.exists()


def test_a_key_of_the_users_own_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIL_MCP_JUDGE_API_KEY", "s3cret")
    monkeypatch.setenv("PATH", _tool(tmp_path / "bin", "exit 9"), prepend=":")

    with pytest.raises(SystemExit):
        main(["judge", "serve", "--dry-run", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert document["environment"]["VLLM_API_KEY"] == "(from HIL_MCP_JUDGE_API_KEY)"
    assert "s3cret" not in json.dumps(document)
    (note,) = document["notes"]
    assert re.fullmatch(r"no GPU found: \S+ for a CPU build of vLLM, which is slow", note)


@pytest.mark.parametrize("python", ["missing", "without"])
def test_an_interpreter_without_vllm_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], python: str
) -> None:
    path = tmp_path / "nowhere" if python == "missing" else fake_vllm(tmp_path, has_vllm=False)

    with pytest.raises(SystemExit) as ended:
        main(["judge", "serve", "--python", str(path)])

    assert ended.value.code == ExitStatus.USAGE
    assert str(path) in capsys.readouterr().err


def test_a_port_that_somebody_serves_is_wrong_usage(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = str(somebody.getsockname()[1])
        with pytest.raises(SystemExit) as ended:
            main(["judge", "serve", "--python", str(fake_vllm(tmp_path)), "--port", port])

    assert ended.value.code == ExitStatus.USAGE
    assert "another server is there already" in capsys.readouterr().err
    assert not (home / "judge-serve.log").exists()


@pytest.mark.parametrize("model", ["broken", "broken-and-forking"])
def test_a_server_that_ends_is_told_with_its_last_words(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = fake_vllm(tmp_path)
    arguments = ["--python", str(python), "--model", model, "--served-name", "m"]

    with pytest.raises(SystemExit) as ended:
        main(["judge", "serve", *arguments, "--port", str(free_port()), "--wait", "30"])

    assert ended.value.code == ExitStatus.PROGRAM
    err = capsys.readouterr().err
    assert "vLLM ended" in err
    assert "ValueError: no such model" in err


def test_a_server_that_never_answers_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # It listens on another port than the one that is asked.
    python = fake_vllm(tmp_path)
    python.write_text(
        python.read_text(encoding="utf-8").replace('options["--port"]', str(free_port())),
        encoding="utf-8",
    )

    with pytest.raises(SystemExit) as ended:
        main(
            [
                *("judge", "serve", "--python", str(python), "--served-name", "m"),
                *("--port", str(free_port()), "--wait", "1"),
            ]
        )

    assert ended.value.code == ExitStatus.PROGRAM
    assert "did not answer in time" in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [True, False])
def test_a_server_is_announced_when_it_answers_and_ends_with_the_command(
    home: Path, tmp_path: Path, as_json: bool
) -> None:
    port = free_port()
    command = [sys.executable, "-m", "hil_mcp", "judge", "serve", "--port", str(port)]
    command += ["--python", str(fake_vllm(tmp_path)), "--served-name", "judge-model"]
    command += ["--json"] if as_json else []
    environment = {**os.environ, "HIL_MCP_HOME": str(home)}

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as serving:
        assert serving.stdout is not None
        last = b"}\n" if as_json else b"\n"
        lines = [serving.stdout.readline()]
        while lines[-1] and not lines[-1].endswith(last):
            lines.append(serving.stdout.readline())
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(timeout=20) == ExitStatus.DONE

    text = b"".join(lines).decode()
    key_path = home / "judge-api-key"
    assert key_path.stat().st_mode & 0o777 == 0o600
    if as_json:
        ready = json.loads(text)
        assert (ready["url"], ready["models"]) == (f"http://127.0.0.1:{port}", ["judge-model"])
        assert ready["api_key_from"] == str(key_path)
        assert not Path(f"/proc/{ready['pid']}").exists()
    else:
        assert text.startswith(f"ready: http://127.0.0.1:{port} serves judge-model")
        assert str(key_path) in text
    assert b"loading" in (home / "judge-serve.log").read_bytes()
