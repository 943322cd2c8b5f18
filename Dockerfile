# An image that judges backends: `docker run --rm npu-conformance run` ends with a verdict, by its exit status too.
# Build it from a clone, whose commit the version names: docker build -t npu-conformance .
# Pin the base by the digest that your registry shows; `docker buildx imagetools inspect` prints it.
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS build
# git tells the version which commit this is; the wheel, the same by any git, is all that is taken from here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
COPY constraints/hashed/build.txt /tmp/build.txt
RUN python -m pip install --no-cache-dir --require-hashes --requirement /tmp/build.txt
COPY . /src
RUN git config --global --add safe.directory /src \
    && python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels /src

FROM python:${PYTHON}
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1
COPY constraints/hashed/image.txt /tmp/image.txt
RUN python -m pip install --no-cache-dir --require-hashes --requirement /tmp/image.txt && rm /tmp/image.txt
COPY --from=build /wheels /tmp/wheels
RUN python -m pip install --no-cache-dir --no-deps --no-index /tmp/wheels/*.whl \
    && rm -rf /tmp/wheels \
    && useradd --create-home --uid 1000 judge \
    && install --directory --owner judge /work
USER judge
# Mount a folder here to keep the report: -v "$PWD:/work".
WORKDIR /work
ENTRYPOINT ["npu-conformance"]
CMD ["--help"]
