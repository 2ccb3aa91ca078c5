import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api";
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
      {open.document && open.page !== null && open.collection ? <PageImage key={`${open.collection} ${open.document} ${open.page} ${open.mark} ${open.text}`} open={open} /> : null}
      <p class="text">
        <Marked text={open.text} mark={open.mark} />
      </p>
    </aside>
  );
}

interface Drawn {
  bitmap: ImageBitmap;
  page: number;
  pages: number;
}

/** The picture of a page. Where the sentence begins on the next page, that one comes. Where the server has no picture,
 * nothing: the text below says it. */
function PageImage({ open }: { open: Source }) {
  const [wanted, setWanted] = useState<number | null>(null); // a page that was turned to
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [isMissing, setMissing] = useState(false);
  const canvas = useRef<HTMLCanvasElement>(null);
  const document = `/v1/collections/${encodeURIComponent(open.collection)}/documents/${encodeURIComponent(open.document ?? "")}`;
  const mark = open.mark ? `mark=${encodeURIComponent(open.text.slice(open.mark[0], open.mark[1]).slice(0, 500))}` : "";
  useEffect(() => {
    let isCurrent = true;
    void drawPage(`${document}/pages/${wanted ?? open.page}.png?${mark}${wanted === null ? "&turn=1" : ""}`).then(
      (picture) => isCurrent && setDrawn(picture),
      () => isCurrent && setMissing(true),
    );
    return () => (isCurrent = false);
  }, [wanted]);
  useEffect(() => {
    if (!canvas.current || !drawn) return;
    canvas.current.width = drawn.bitmap.width;
    canvas.current.height = drawn.bitmap.height;
    canvas.current.getContext("2d")?.drawImage(drawn.bitmap, 0, 0);
  }, [drawn]);
  if (isMissing) return null;
  const { page = open.page ?? 1, pages = Infinity } = drawn ?? {};
  return (
    <figure class="page-image">
      <canvas ref={canvas} role="img" aria-label={`Page ${page}`} width={1224} height={1584} />
      <figcaption>
        <button aria-label="Page before" disabled={page <= 1} onClick={() => setWanted(page - 1)}>
          ‹
        </button>{" "}
        page {page}
        {drawn ? ` of ${pages}` : ""}{" "}
        <button aria-label="Page after" disabled={page >= pages} onClick={() => setWanted(page + 1)}>
          ›
        </button>{" "}
        <a href={document} target="_blank" rel="noopener">
          Open the original
        </a>
      </figcaption>
    </figure>
  );
}

async function drawPage(address: string): Promise<Drawn> {
  const response = await send("GET", address);
  const [page, pages] = ["quorum-page", "quorum-pages"].map((name) => Number(response.headers.get(name)));
  return { bitmap: await createImageBitmap(await response.blob()), page: page ?? 1, pages: pages ?? 1 };
}
