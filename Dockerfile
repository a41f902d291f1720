# The server and the command. The base image is a build argument: pin it by digest where you build.
ARG BASE_IMAGE=python:3.13-slim-bookworm

FROM ${BASE_IMAGE} AS build
WORKDIR /src
RUN python -m venv /opt/hil-mcp
COPY requirements/run.txt requirements/run.txt
RUN /opt/hil-mcp/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
COPY pyproject.toml README.md ./
COPY hil_mcp hil_mcp
COPY judge judge
COPY task_store task_store
COPY clients clients
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir 'hatchling>=1.27,<2' 'build>=1,<2' \
    && /opt/build/bin/python -m build --wheel --no-isolation --outdir /dist \
    && /opt/hil-mcp/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM ${BASE_IMAGE}
RUN useradd --create-home --uid 10001 hil && mkdir /data && chown hil:hil /data
COPY --from=build /opt/hil-mcp /opt/hil-mcp
ENV PATH=/opt/hil-mcp/bin:$PATH HIL_MCP_HOME=/data
USER hil
VOLUME /data
ENTRYPOINT ["hil-mcp"]
