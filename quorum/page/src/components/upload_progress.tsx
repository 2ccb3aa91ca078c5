import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { navigate, route } from "../router";
import { choose } from "../state";
import { countFiles, isOver, nameCount, shareOf, summarize, type FileView, type UploadView } from "../upload_view";
import { cancel, dismiss, unsent, uploads } from "../uploads";

const MOST_SHOWN = 500; // files of a list
const MOST_FAILURES = 5; // that are named above the list

/** On every view but the documents of its collection: an upload in one line. */
export function UploadStrip() {
  const shown = route.value.view === "documents" ? route.value.collection : "";
  const others = uploads.value.filter((upload) => upload.value.collection !== shown);
  return (
    <>
      {others.map((upload) => (
        <UploadProgress key={upload.value.key} upload={upload} isShort />
      ))}
    </>
  );
}

/** An upload: how far it is, Cancel, and what became of each file. */
export function UploadProgress({ upload, isShort = false }: { upload: Signal<UploadView>; isShort?: boolean }) {
  const view = upload.value;
  const [isCancelling, setCancelling] = useState(false);
  const isDone = isOver(view);
  const failed = view.files.filter((file) => file.outcome && file.outcome !== "indexed");
  const hasNotes = view.files.some((file) => file.notes?.length);
  const address = `/documents/${encodeURIComponent(view.collection)}`;
  return (
    <section class={`upload${isShort ? " short" : ""}`} aria-label={`Upload to ${view.collection}`} data-state={view.state}>
      <p>
        {isShort && (
          <>
            <a href={address}>{view.collection}</a>:{" "}
          </>
        )}
        <span class="summary">{summarize(view)}</span>{" "}
        {isShort && failed.length > 0 && <span class="wrong">{failed.length.toLocaleString()} not read. </span>}
        {!isDone && (
          <button
            class="link"
            disabled={isCancelling}
            onClick={() => {
              setCancelling(true);
              void cancel(upload);
            }}
          >
            {isCancelling ? "Cancelling …" : "Cancel"}
          </button>
        )}
        {isDone && countFiles(view, "indexed") > 0 && (
          <button
            class="pick"
            onClick={() => {
              choose({ collection: view.collection });
              dismiss(upload);
              navigate("/");
            }}
          >
            Ask {view.collection}
          </button>
        )}{" "}
        {isDone && (
          <button class="link" onClick={() => dismiss(upload)}>
            Close
          </button>
        )}
      </p>
      {!isDone && <progress aria-label={view.state === "sending" ? "Sent" : "Indexed"} max={1} value={view.state === "waiting" ? undefined : shareOf(view)} />}
      {!isShort && failed.length > 0 && (
        <ul class="failed-files">
          {failed.slice(0, MOST_FAILURES).map((file, index) => (
            <FileLine key={index} file={file} />
          ))}
          {failed.length > MOST_FAILURES && <li class="soft">and {nameCount(failed.length - MOST_FAILURES, "other")}, in the list below</li>}
        </ul>
      )}
      {!isShort && (view.files.length > 1 || hasNotes) && <AllFiles files={view.files} />}
    </section>
  );
}

function AllFiles({ files }: { files: FileView[] }) {
  const [isOpen, setOpen] = useState(false);
  const [most, setMost] = useState(MOST_SHOWN);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All {nameCount(files.length, "file")}</summary>
      {isOpen && (
        <ul>
          {files.slice(0, most).map((file, index) => (
            <FileLine key={index} file={file} />
          ))}
          {files.length > most && (
            <li>
              <button class="link" onClick={() => setMost(files.length)}>
                {nameCount(files.length - most, "more")}
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}

const OUTCOMES = { indexed: "indexed", not_read: "not read", cancelled: "cancelled", interrupted: "interrupted" };

function FileLine({ file }: { file: FileView }) {
  const isWrong = file.outcome !== undefined && file.outcome !== "indexed";
  return (
    <li>
      <span class="path">{file.path}</span>{" "}
      <span class={isWrong ? "wrong" : "soft"}>
        {file.outcome ? OUTCOMES[file.outcome] : file.done ? "being read" : "waiting"}
        {file.outcome === "indexed" && `, ${nameCount(file.passages, "passage")}`}
        {file.reason && `: ${file.reason}`}
      </span>
      {file.notes?.map((note) => (
        <span key={note} class="soft">
          {" "}
          · {note}
        </span>
      ))}
    </li>
  );
}

/** The files that the page was sending when it was loaded anew: the server never had them. */
export function UnsentFiles({ collection }: { collection: string }) {
  const left = unsent.value;
  if (!left || (collection && left.collection !== collection)) return null;
  return (
    <section class="failure" aria-label="Files that were not sent">
      <p>
        The page was left while it sent {nameCount(left.paths.length, "file")} to {left.collection}. What had come whole may be listed below as not indexed; drop them again.{" "}
        <button class="link" onClick={() => (unsent.value = null)}>
          Close
        </button>
      </p>
      <AllFiles files={left.paths.map((path) => ({ path, size: 0, done: 0, passages: 0, outcome: "interrupted" }))} />
    </section>
  );
}
