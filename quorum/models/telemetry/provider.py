"""Finds out whether spans are asked for, and where they go: OpenTelemetry's own environment variables say so."""

import logging
import os
import sys
import threading
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from quorum.core.extras import describe_install

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP, GRPC = "http/protobuf", "grpc"
NAME = "quorum"
LOGGER = logging.getLogger(__name__)


class Telemetry:
    """The provider that Quorum makes itself; None if it has made none, or could not."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_started, self.provider = False, None

    def start(self) -> Any:
        """The provider, made at the first call. What is wrong is logged once, and stops no answer."""
        with self.lock:
            if not self.is_started:
                self.is_started = True
                try:
                    self.provider = make_provider(os.environ)
                except ImportError:
                    LOGGER.warning(
                        "%s is set, but no spans are sent: the extra [otel] is missing; run: %s",
                        *(find_endpoint_variable(os.environ), describe_install("otel")),
                    )
                except Exception as error:  # noqa: BLE001  a wrong variable must not stop answers
                    LOGGER.warning("No spans are sent; OpenTelemetry does not start: %s", error)
            return self.provider

    def stop(self) -> None:
        """Send what waits, and forget the provider."""
        with self.lock:
            provider, self.provider, self.is_started = self.provider, None, False
        if provider is not None:
            provider.shutdown()


TELEMETRY = Telemetry()


def get_tracer() -> Any:
    """The tracer of the program around Quorum, if it has set a provider; else Quorum's own; None if nobody asks."""
    provider = find_given_provider()
    if provider is None and wants_spans(os.environ):
        provider = TELEMETRY.start()
    return None if provider is None else provider.get_tracer(NAME, read_version())


def find_given_provider() -> Any:
    """The provider that the program around Quorum has set, if any."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider) else provider


def wants_spans(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for spans, and says where to send them.

    >>> wants_spans({}), wants_spans({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    (False, True)
    """
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporters = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    return find_endpoint_variable(environment) != "" and not is_disabled and "otlp" in exporters.split(",")


def find_endpoint_variable(environment: Mapping[str, str]) -> str:
    return next((name for name in ENDPOINT_VARIABLES if environment.get(name, "").strip()), "")


def make_provider(environment: Mapping[str, str]) -> Any:
    """A provider that sends spans in batches. The SDK reads all other variables itself: headers, time limits, sampler.

    Raises ImportError without the extra, and ValueError for a protocol that there is not.
    """
    protocol = next((environment[name] for name in PROTOCOL_VARIABLES if environment.get(name)), HTTP)
    exporter: Any
    if protocol == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    elif protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        exporter = GrpcExporter()
    else:
        raise ValueError(f"the protocol {protocol!r} is not known; set {PROTOCOL_VARIABLES[1]} to {HTTP} or {GRPC}")
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    attributes = {"service.version": read_version()}
    if not environment.get("OTEL_SERVICE_NAME") and "service.name=" not in environment.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        attributes["service.name"] = NAME
    provider = TracerProvider(resource=Resource.create(attributes))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@cache
def read_version() -> str:
    return version("quorum-rag")
