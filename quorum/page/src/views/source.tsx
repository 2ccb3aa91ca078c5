import { useEffect, useRef, useState } from "preact/hooks";
import { Marked } from "../components/marked";
import { source, type Source } from "../state";

/** The source that is open: a PDF's page with the sentence marked, else the passage's text scrolled to the mark. */
export function SourcePane() {
  const open = source.value;
  const pane = useRef<HTMLElement>(null);
  useEffect(() => pane.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), [open]);
  useEffect(() => pane.current?.focus({ preventScroll: true }), [open]);
  if (!open) return null;
  return (
    <aside class="source-pane" aria-label="Source" ref={pane} tabIndex={-1}>
      <header>
        <b>{open.title}</b>
        <button aria-label="Close the source" onClick={() => (source.value = null)}>
          ×
        </button>
      </header>
      {open.document && open.page !== null && open.collection ? <PageImage key={`${open.document} ${open.page}`} open={open} /> : null}
      <p class="text">
        <Marked text={open.text} mark={open.mark} />
      </p>
    </aside>
  );
}

/** The picture of a page. Where the server has none, nothing: the text below says it. */
function PageImage({ open }: { open: Source }) {
  const [page, setPage] = useState(open.page ?? 1);
  const [isMissing, setMissing] = useState(false);
  if (isMissing && page === open.page) return null;
  const document = `/v1/collections/${encodeURIComponent(open.collection)}/documents/${encodeURIComponent(open.document ?? "")}`;
  const mark = open.mark && page === open.page ? `?mark=${encodeURIComponent(open.text.slice(open.mark[0], open.mark[1]).slice(0, 500))}` : "";
  return (
    <figure class="page-image">
      {isMissing ? <p class="soft">There is no such page.</p> : <img src={`${document}/pages/${page}.png${mark}`} alt={`Page ${page}`} onError={() => setMissing(true)} />}
      <figcaption>
        <button aria-label="Page before" disabled={page <= 1} onClick={() => (setMissing(false), setPage(page - 1))}>
          ‹
        </button>{" "}
        page {page}{" "}
        <button aria-label="Page after" disabled={isMissing} onClick={() => setPage(page + 1)}>
          ›
        </button>{" "}
        <a href={document} target="_blank" rel="noopener">
          Open the original
        </a>
      </figcaption>
    </figure>
  );
}
