"""What to do with a file of a type that Quorum does not read, by the end of its name."""

SUFFIXES_OF_ADVICE = {
    "save it as .docx": (".doc", ".dot", ".dotx", ".dotm", ".wps", ".wpd"),
    "save it as .xlsx": (".xls", ".xlt", ".xlsb", ".xltx", ".xltm"),
    "save it as .pptx": (".ppt", ".pps", ".pot", ".ppsx", ".ppsm", ".potx", ".potm"),
    "in Pages, export it as .docx": (".pages",),
    "in Numbers, export it as .xlsx": (".numbers",),
    "if it is a presentation, export it from Keynote as .pptx": (".key",),
    "in LibreOffice, save it as .odt": (".sxw", ".stw", ".sdw", ".fodt", ".ott"),
    "in LibreOffice, save it as .ods": (".sxc", ".stc", ".sdc", ".fods", ".ots"),
    "in LibreOffice, save it as .odp": (".sxi", ".sti", ".sdd", ".fodp", ".otp"),
    "export it as .pdf": (".odg", ".sxd", ".pub", ".vsd", ".vsdx", ".xps", ".oxps", ".ps", ".eps", ".indd", ".afpub"),
    "in OneNote, export it as .docx": (".one",),
    "convert it to .epub, for example with calibre": (".mobi", ".azw", ".azw3", ".prc", ".fb2", ".lit"),
    "convert it to a .pdf with text": (".djvu", ".djv"),
    "it is only a link; download the document as .docx": (".gdoc",),
    "it is only a link; download the document as .xlsx": (".gsheet",),
    "it is only a link; download the document as .pptx": (".gslides",),
    "save the page as .html": (".mht", ".mhtml", ".webarchive"),
    "export its messages as .eml": (".mbox", ".pst", ".ost"),
    "export its tables as .csv": (".mdb", ".accdb", ".sqlite", ".sqlite3", ".parquet", ".feather", ".sav", ".dta"),
    "unpack it and index the folder": (".zip", ".7z", ".rar", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst"),
    "it is plain text: index a copy with the ending .txt": (".adoc", ".asciidoc", ".org", ".textile", ".wiki", ".srt"),
}
ADVICE = {suffix: advice for advice, suffixes in SUFFIXES_OF_ADVICE.items() for suffix in suffixes}


def refuse_type(suffix: str) -> str:
    """Why a file with this suffix is not read, and what the user can do if there is something.

    >>> refuse_type(".doc")
    "files of type '.doc' are not read; save it as .docx"
    >>> refuse_type(".xyz"), refuse_type("")
    ("files of type '.xyz' are not read", 'a file without a type is not read')
    """
    if not suffix:
        return "a file without a type is not read"
    advice = ADVICE.get(suffix.lower())
    return f"files of type {suffix!r} are not read" + (f"; {advice}" if advice else "")
