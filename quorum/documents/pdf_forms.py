"""Reads what people filled into the form fields of a PDF."""

import ctypes
from collections.abc import Callable
from typing import Any

from quorum.documents.document import join_lines
from quorum.documents.pdf_lines import Line

MAX_FIELDS = 5000  # of a page


def read_form_values(page: Any, form: Any) -> list[Line]:
    """The filled fields of a page as rows, "name: value"; a box that is ticked or not as "[x] name" or "[ ] name".

    form: pdfium's form of the document; None if it has none.
    """
    if form is None:
        return []
    import pypdfium2.raw as raw

    lines = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_FIELDS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        is_field = raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET
        if is_field and (text := format_field(annotation, form)):
            lines.append(Line(text, 0, 0, 0, 0, is_row=True))
        raw.FPDFPage_CloseAnnot(annotation)
    return lines


def format_field(annotation: Any, form: Any) -> str:
    """A field as text; empty for a button, a signature, or a field without a value."""
    import pypdfium2.raw as raw

    kind = raw.FPDFAnnot_GetFormFieldType(form.raw, annotation)
    label = read_text(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = label or read_text(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        mark = "[x]" if raw.FPDFAnnot_IsChecked(form.raw, annotation) else "[ ]"
        option = read_text(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
        is_option = kind == raw.FPDF_FORMFIELD_RADIOBUTTON and bool(option)
        return f"{mark} {name}: {option}" if is_option and name else f"{mark} {name or option}"
    if kind not in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        return ""
    value = read_text(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    return f"{name}: {value}" if name and value else value


def read_text(function: Callable[..., int], form: Any, annotation: Any) -> str:
    """A text that pdfium writes as UTF-16."""
    length = function(form.raw, annotation, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    import pypdfium2.raw as raw

    function(form.raw, annotation, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return join_lines(buffer.raw[: length - 2].decode("utf-16-le", "replace"))
