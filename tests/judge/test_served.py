"""A server's list of models, as servers of many makes send it."""

from __future__ import annotations

import httpx
import pytest

from judge.call_error import CallError
from judge.client import ChatClient
from judge.served import ServedModel, offered
from tests.support.endpoints import Endpoint


async def _models(reply: httpx.Response) -> tuple[ServedModel, ...]:
    transport = httpx.MockTransport(Endpoint([], models=reply))
    async with ChatClient("http://judge.test", transport=transport) as client:
        return await client.models()


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"max_model_len": 8192}, 8192),
        ({"context_length": 8192}, 8192),
        ({"context_window": 8192}, 8192),
        ({"max_context_length": 8192}, 8192),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 131_072}}, 4096),
        ({"meta": {"n_ctx_train": 131_072}}, None),
        ({"meta": None, "context_length": "auto"}, None),
        ({"max_model_len": "8192", "context_window": True}, None),
        ({"max_model_len": 0}, None),
        ({"max_model_len": 8192, "context_length": 4096}, 4096),
        ({}, None),
    ],
)
async def test_the_context_window_is_read_by_any_of_its_names(
    fields: dict[str, object], tokens: int | None
) -> None:
    served = await _models(httpx.Response(200, json={"data": [{"id": "m", **fields}]}))

    assert served == (ServedModel(name="m", context_tokens=tokens),)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"data": null}', []),
        (b'\xef\xbb\xbf{"data": [{"id": "m"}]}', ["m"]),
        (b'[{"id": "m"}]', ["m"]),
        (b'{"data": [null, {"name": "x"}, {"id": 3}, {"id": "m"}]}', ["m"]),
        (b'{"data": [{"id": "m\\ud800"}]}', ["m?"]),
    ],
)
async def test_an_odd_list_is_read_where_it_can_be(body: bytes, names: list[str]) -> None:
    served = await _models(httpx.Response(200, content=body))

    assert [entry.name for entry in served] == names


@pytest.mark.parametrize("body", [b"3", b"{}", b'{"data": 3}', b"<html>", b"[" * 100_000])
async def test_a_list_that_cannot_be_read_is_an_error(body: bytes) -> None:
    with pytest.raises(CallError, match="list of models"):
        await _models(httpx.Response(200, content=body))


@pytest.mark.parametrize(
    ("names", "model", "found"),
    [
        (["a", "m"], "m", "m"),
        (["m:latest"], "m", "m:latest"),
        (["m"], "m:latest", "m"),
        (["m:7b"], "m", None),
        (["*", "openai/*", "openai/m"], "openai/m", "openai/m"),
        (["openai/*"], "openai/m", "openai/*"),
        (["openai/*"], "m", None),
        (["*"], "any/m", "*"),
        (["[m]"], "m", None),
    ],
)
def test_an_entry_can_stand_for_a_name_it_does_not_spell(
    names: list[str], model: str, found: str | None
) -> None:
    entry = offered([ServedModel(name=name, context_tokens=None) for name in names], model)

    assert (entry.name if entry else None) == found
