"""Writes OpenDocument files, as LibreOffice lays them out."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from quorum.documents.odf_html import NAMESPACES

SPACES = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in NAMESPACES.items())


def make_root(element: str, inner: str) -> str:
    return f"<office:{element} {SPACES}>{inner}</office:{element}>"


def write_opendocument(
    path: Path,
    body: str,
    *,
    styles: str = "",
    own_styles: str = "",
    meta: str = "",
    parts: Mapping[str, str] | None = None,
) -> Path:
    """Write a file; the end of its name says what kind. body: the XML within office:text, or another kind's element.

    styles: XML of styles.xml; own_styles: of the automatic styles of content.xml; meta: of meta.xml; parts: other parts
    of the archive.
    """
    kind = {".odt": "text", ".ods": "spreadsheet", ".odp": "presentation"}[path.suffix]
    content = f"<office:automatic-styles>{own_styles}</office:automatic-styles>"
    content += f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        file.writestr("content.xml", make_root("document-content", content))
        file.writestr("styles.xml", make_root("document-styles", f"<office:styles>{styles}</office:styles>"))
        file.writestr("meta.xml", make_root("document-meta", f"<office:meta>{meta}</office:meta>"))
        for name, text in (parts or {}).items():
            file.writestr(name, text)
    return path
