"""Switches off the reports that libraries would send to their makers."""

import os

# What libraries read, most of them when they are imported. A variable that the user has set stays as it is.
TELEMETRY_SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime reports from a thread of its own, from the import on
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "HF_HUB_DISABLE_TELEMETRY": "1",  # sentence-transformers and transformers
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",  # LangGraph's development server, which serves Studio
}


def switch_off_telemetry() -> None:
    """Set the variables that switch off telemetry in this process and in the processes that it starts.

    `import quorum` calls this before anything else, because ONNX Runtime reads its variable only once, when it is
    imported.
    """
    for name, value in TELEMETRY_SWITCHES.items():
        os.environ.setdefault(name, value)
