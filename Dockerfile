# Quorum with its built-in model, for docs/container.md. make test-container builds this file's layers without Docker.
FROM debian:trixie-slim AS base
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM base AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /build
RUN python3 -m venv /opt/quorum
ENV PATH=/opt/quorum/bin:$PATH
# Further packages, such as "langchain-anthropic langchain-qdrant": docker build --build-arg PACKAGES="..."
ARG PACKAGES=""
COPY pyproject.toml constraints.txt ./
# What Quorum needs, before Quorum itself, so that a change of Quorum's code does not install it anew.
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
print(*project['dependencies'], *project['optional-dependencies']['mcp'], sep='\n')" > requirements.txt \
    && pip install --no-cache-dir --constraint constraints.txt --requirement requirements.txt $PACKAGES
COPY . .
# Without git's history the version comes from here; the workflow gives the tag's.
ARG VERSION=""
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" pip install --no-cache-dir --no-deps . \
    && pip uninstall --yes pip

FROM base
LABEL org.opencontainers.image.title="Quorum" \
    org.opencontainers.image.description="Question answering over your documents by the method you choose" \
    org.opencontainers.image.licenses="MIT"
# Any user may run it (--user): the volume is writable by all, as the folder for temporary files is.
RUN useradd --uid 10001 --gid 0 --home-dir /data --no-create-home --shell /usr/sbin/nologin quorum \
    && mkdir --mode 1777 /data
COPY --from=build /opt/quorum /opt/quorum
ENV PATH=/opt/quorum/bin:$PATH HOME=/data PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/health', timeout=8)"]
ENTRYPOINT ["quorum"]
CMD ["serve", "--host", "0.0.0.0", "--collections", "all"]
