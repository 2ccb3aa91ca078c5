import { useEffect, useState } from "preact/hooks";
import { sentenceOf } from "../api";
import { FileButtons, openAdding } from "../components/adding";
import { confirm } from "../components/confirm";
import { UnsentFiles, UploadProgress } from "../components/upload_progress";
import { collections, isConnectionLost, mayMakeCollections, refreshCollections } from "../state";
import { formatBytes, nameCount } from "../upload_view";
import { addressOf, documentChanges, forgetUploads, listDocuments, liveUploads, reindex, removeDocument, uploads, type Document } from "../uploads";
import { AllCollections, CollectionActions, describeState, formatDay, Heading } from "./collections";

const MOST_SHOWN = 200; // documents, before "show all"

/** The collections, or the documents of one. */
export function Documents({ collection }: { collection: string }) {
  return collection ? <OneCollection key={collection} name={collection} /> : <AllCollections />;
}

function OneCollection({ name }: { name: string }) {
  const [documents, setDocuments] = useState<Document[] | null>(null);
  const [problem, setProblem] = useState("");
  const one = collections.value?.find((other) => other.id === name);
  const changes = documentChanges.value;
  const live = liveUploads.value.filter((upload) => upload.value.collection === name);
  const indexedSoFar = live.reduce((sum, upload) => sum + upload.value.files.filter((file) => file.outcome).length, 0);
  const isLoaded = collections.value !== null;
  useEffect(() => {
    if (!isLoaded) return;
    if (!one && indexedSoFar) void refreshCollections();
    let isCurrent = true;
    listDocuments(name, one !== undefined).then(
      (list) => isCurrent && (setDocuments(list), setProblem("")),
      (error) => isCurrent && setProblem(sentenceOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [name, changes, indexedSoFar, isLoaded, one?.changed, isConnectionLost.value]);
  const here = uploads.value.filter((upload) => upload.value.collection === name);
  const told = new Set(here.map((upload) => upload.value.id));
  const isNew = !one && mayMakeCollections.value;
  return (
    <div class="page-view">
      <p class="soft">
        <a href="/documents">Documents</a>
      </p>
      <Heading>{name}</Heading>
      {one && (
        <div class="tools">
          <span class="soft">
            {[nameCount(one.documents ?? 0, "document"), nameCount(one.passages ?? 0, "passage"), one.bytes == null ? "" : formatBytes(one.bytes), describeState(one)].filter(Boolean).join(" · ")}
          </span>
          <CollectionActions one={one} />
        </div>
      )}
      {one?.may_change && (
        <p>
          <FileButtons label="Add files" /> <span class="soft">or drop them anywhere on this page</span>
        </p>
      )}
      <UnsentFiles collection={name} />
      {here.map((upload) => (
        <UploadProgress key={upload.value.key} upload={upload} />
      ))}
      {problem && <p class="wrong">{problem}</p>}
      {isLoaded && !one && !here.length && (
        <p>
          There is no collection {name}. {isNew && <button class="pick" onClick={() => openAdding()}>Add documents …</button>}
        </p>
      )}
      {documents && <DocumentTable collection={name} documents={documents.filter((document) => !told.has(document.upload ?? ""))} mayChange={one?.may_change ?? false} busy={live.length > 0} />}
    </div>
  );
}

function DocumentTable({ collection, documents, mayChange, busy }: { collection: string; documents: Document[]; mayChange: boolean; busy: boolean }) {
  const [words, setWords] = useState("");
  const [most, setMost] = useState(MOST_SHOWN);
  const failures = documents.filter((one) => one.state === "failed");
  const ready = documents.filter((one) => one.state !== "failed" && (one.path ?? one.name).toLowerCase().includes(words.toLowerCase()));
  const hasMany = documents.length - failures.length > 20;
  const reading = new Set(liveUploads.value.filter((upload) => upload.value.collection === collection).flatMap((upload) => upload.value.files.filter((file) => !file.outcome).map((file) => file.path)));
  return (
    <>
      {failures.length > 0 && (
        <section class="failures" aria-label="Files that are not indexed">
          <h2>
            {nameCount(failures.length, "file")} not indexed{" "}
            {!busy && (
              <button class="link" onClick={() => void forgetUploads(failures.flatMap((one) => one.upload ?? []))}>
                Forget {failures.length === 1 ? "it" : "them"}
              </button>
            )}
          </h2>
          <ul class="failed-files">
            {failures.slice(0, most).map((one) => (
              <li key={one.id}>
                <span class="path">{one.path ?? one.name}</span> <span class="wrong">{one.reason}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {hasMany && (
        <p>
          <input type="search" aria-label="Search documents by name" placeholder="Search by name" value={words} onInput={(event) => setWords(event.currentTarget.value)} /> <span class="soft">{nameCount(ready.length, "document")}</span>
        </p>
      )}
      {ready.length > 0 && (
        <div class="table cards">
          <table>
            <thead>
              <tr>
                <th scope="col">Document</th>
                <th scope="col" class="number">
                  Pages
                </th>
                <th scope="col" class="number">
                  Passages
                </th>
                <th scope="col">State</th>
                <th scope="col">Date of the file</th>
                <th scope="col">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {ready.slice(0, most).map((one) => (
                <DocumentRow key={one.id} collection={collection} one={one} mayChange={mayChange} isReading={reading.has(one.path ?? "")} busy={busy} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {ready.length > most && (
        <button class="link" onClick={() => setMost(Infinity)}>
          Show all {nameCount(ready.length, "document")}
        </button>
      )}
    </>
  );
}

function DocumentRow({ collection, one, mayChange, isReading, busy }: { collection: string; one: Document; mayChange: boolean; isReading: boolean; busy: boolean }) {
  const address = addressOf(collection, one.id);
  const isPdf = one.name.toLowerCase().endsWith(".pdf");
  const name = one.path ?? one.name;
  const label = <span class="hidden"> {name}</span>;
  const remove = () =>
    confirm({
      title: `Remove ${one.name}?`,
      sentences: [
        `Its ${nameCount(one.passages ?? 0, "passage")} ${one.passages === 1 ? "goes" : "go"}${one.is_upload ? ", and the file that the server keeps of the upload" : ""}. This cannot be undone.`,
        one.is_upload ? "To have it again, drop it again." : "The file itself stays on the disk; quorum index on its folder adds it again.",
      ],
      action: "Remove",
      run: () => void removeDocument(collection, one.id),
    });
  return (
    <tr>
      <td class="path">{name}</td>
      <td class="number" data-label={one.pages ? (one.pages === 1 ? "page" : "pages") : ""}>
        {one.pages?.toLocaleString()}
      </td>
      <td class="number" data-label={one.passages === 1 ? "passage" : "passages"}>
        {one.passages?.toLocaleString()}
      </td>
      <td>{isReading ? "being indexed" : "indexed"}</td>
      <td>{formatDay(one.modified)}</td>
      <td class="actions">
        {one.has_original && (
          <a href={isPdf ? `${address}?inline=1` : address} {...(isPdf ? { target: "_blank", rel: "noopener" } : { download: one.name })}>
            Open{label}
          </a>
        )}
        {mayChange && one.is_upload && one.has_original && (
          <button class="link" disabled={busy} onClick={() => void reindex(collection, one.id)}>
            Re-index{label}
          </button>
        )}
        {mayChange && (
          <button class="link" disabled={busy} onClick={remove}>
            Remove{label}
          </button>
        )}
      </td>
    </tr>
  );
}
