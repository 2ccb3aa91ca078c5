"""Looks for faults of accessibility in a page, with axe-core."""

from pathlib import Path
from typing import Any

import pytest
from browser import Page

AXE = Path(__file__).parents[2] / "quorum" / "page" / "node_modules" / "axe-core" / "axe.min.js"
SEVERE = ("serious", "critical")


def find_faults(page: Page, impacts: tuple[str, ...] = SEVERE) -> list[str]:
    """The faults of the page as it is now: "rule: selector" of each element, with the impact before it."""
    if not AXE.exists():
        pytest.skip("axe-core is not here: make page-build fetches it with npm")
    if page.run("typeof axe === 'undefined'"):
        page.run(AXE.read_text(encoding="utf-8") + "; 0")
    page.run(
        "Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity)"
        ".map((one) => one.finished.catch(() => 0))).then(() => 0)"
    )
    found: list[dict[str, Any]] = page.run(
        "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations.map((one) =>"
        " ({id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.target.join(' '))})))"
    )
    return [
        f"{one['impact']} {one['id']}: {node}" for one in found if one["impact"] in impacts for node in one["nodes"]
    ]
