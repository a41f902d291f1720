"""`hil-mcp judge serve`: a judge's server on this machine."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.output import print_json, remark

if TYPE_CHECKING:
    from hil_mcp.settings import Settings
    from hil_mcp.vllm_plan import ServerPlan


def serve(
    *,
    model: Annotated[str | None, typer.Option(help="Name or folder; default as set.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8808,
    context: Annotated[
        int, typer.Option(min=6600, help="Longest prompt and reply, in tokens.")
    ] = 8192,
    served_name: Annotated[
        str | None, typer.Option(help="Name that the judge asks for; default the model's.")
    ] = None,
    python: Annotated[
        str, typer.Option(help="Interpreter of the environment that has vLLM.", show_default=False)
    ] = sys.executable,
    wait: Annotated[float, typer.Option(min=1, help="Longest start, in seconds.")] = 1800.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the command and start nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Start vLLM with the options that model and GPUs call for, and say where it answers."""
    import anyio

    from hil_mcp.settings import load_settings
    from hil_mcp.vllm_plan import answering_url, plan_server
    from hil_mcp.vllm_server import find_cpu_flags, find_gpus

    settings = load_settings(judge_model=model)
    plan = plan_server(
        settings.judge_model,
        anyio.run(find_gpus),
        python=python,
        host=host,
        port=port,
        cpu_flags=find_cpu_flags(),
        context_tokens=context,
        served_name=served_name,
    )
    if dry_run:
        _print_plan(plan, _key_place(settings), as_json=as_json)
        return
    for note in plan.notes:
        remark(note)
    url = answering_url(host, port)
    anyio.run(lambda: _run(plan, settings, url, wait_s=wait, as_json=as_json))


async def _run(
    plan: ServerPlan,
    settings: Settings,
    url: str,
    *,
    wait_s: float,
    as_json: bool,
) -> None:
    """Serve until SIGTERM; the server must not outlive this process."""
    import anyio

    from hil_mcp.errors import HilMcpError

    failed: HilMcpError | None = None
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async with anyio.create_task_group() as serving:

            async def end_when_told() -> None:
                async for _ in signals:
                    serving.cancel_scope.cancel()

            serving.start_soon(end_when_told)
            try:
                await _serve(plan, settings, url, wait_s=wait_s, as_json=as_json)
            except HilMcpError as exc:  # kept: a task group would wrap it
                failed = exc
            serving.cancel_scope.cancel()
    if failed is not None:
        raise failed


async def _serve(
    plan: ServerPlan, settings: Settings, url: str, *, wait_s: float, as_json: bool
) -> None:
    from hil_mcp.vllm_server import check_vllm, kept_api_key, refuse_taken, running

    await check_vllm(plan.command[0])
    refuse_taken(url)
    own_key = settings.judge_api_key
    key = own_key.get_secret_value() if own_key else kept_api_key(settings.home)
    key_place = _key_place(settings)
    log_path = settings.home / "judge-serve.log"
    remark(f"starting vLLM; its log is {log_path}")
    async with running(plan, log_path, api_key=key) as server:
        names = await server.wait_until_it_answers(url, api_key=key, limit_s=wait_s)
        if as_json:
            print_json(
                {
                    "url": url,
                    "models": list(names),
                    "pid": server.pid,
                    "log": str(log_path),
                    "api_key_from": key_place,
                }
            )
        else:
            print(f"ready: {url} serves {', '.join(names)}; the API key is in {key_place}")
        sys.stdout.flush()
        await server.wait()


def _print_plan(plan: ServerPlan, key_place: str, *, as_json: bool) -> None:
    import shlex

    # The key is named by its place: a command that is shown may be pasted anywhere.
    environment = {**plan.environment, "VLLM_API_KEY": f"(from {key_place})"}
    if as_json:
        print_json(
            {
                "command": list(plan.command),
                "environment": environment,
                "notes": list(plan.notes),
            }
        )
        return
    for note in plan.notes:
        remark(note)
    for name, value in environment.items():
        print(f"{name}={value}")
    print(shlex.join(plan.command))


def _key_place(settings: Settings) -> str:
    """Where a caller finds the key."""
    from hil_mcp.vllm_server import api_key_path

    if settings.judge_api_key is not None:
        return "HIL_MCP_JUDGE_API_KEY"
    return str(api_key_path(settings.home))
