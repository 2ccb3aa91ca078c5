import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Collection } from "../api";
import { confirm } from "../components/confirm";
import { FileButtons, openAdding } from "../components/adding";
import { UnsentFiles, UploadProgress } from "../components/upload_progress";
import { navigate } from "../router";
import { choose, collections, isConnectionLost, mayMakeCollections } from "../state";
import { addressOf, deleteCollection, documentChanges, forgetUploads, formatBytes, listDocuments, liveUploads, nameCount, reindex, removeDocument, renameCollection, uploads, type Document } from "../uploads";

const MOST_SHOWN = 200; // documents, before "show all"

/** The collections, or the documents of one. */
export function Documents({ collection }: { collection: string }) {
  return collection ? <OneCollection key={collection} name={collection} /> : <AllCollections />;
}

function Heading({ children }: { children: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [children]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

const addressOfCollection = (name: string) => `/documents/${encodeURIComponent(name)}`;

function AllCollections() {
  const all = collections.value;
  return (
    <div class="page-view">
      <Heading>Documents</Heading>
      <UnsentFiles collection="" />
      {all && (all.length ? <CollectionTable all={all} /> : <p>There are no documents yet.</p>)}
      {(mayMakeCollections.value || all?.some((one) => one.may_change)) && (
        <p>
          <button class="pick" onClick={() => openAdding()}>
            Add documents …
          </button>{" "}
          <span class="soft">or drop files or a folder anywhere on this page</span>
        </p>
      )}
    </div>
  );
}

function CollectionTable({ all }: { all: Collection[] }) {
  return (
    <div class="table cards">
      <table>
        <thead>
          <tr>
            <th scope="col">Collection</th>
            <th scope="col" class="number">
              Documents
            </th>
            <th scope="col" class="number">
              Passages
            </th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Changed</th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.id}>
              <td>
                <a href={addressOfCollection(one.id)}>{one.id}</a> <span class="soft">{describeState(one)}</span>
              </td>
              <td class="number" data-label="documents">
                {one.documents?.toLocaleString()}
              </td>
              <td class="number" data-label="passages">
                {one.passages?.toLocaleString()}
              </td>
              <td class="number" data-label="">
                {one.bytes == null ? "" : formatBytes(one.bytes)}
              </td>
              <td>{formatDay(one.changed)}</td>
              <td class="actions">
                <CollectionActions one={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function describeState(one: Collection): string {
  if (one.state === "unreadable") return "cannot be read";
  if (one.state === "changing") return "is being changed";
  if (one.is_sample) return "the sample, which stays as it is";
  if (one.made_for === "evaluation") return "made by an evaluation";
  return !one.may_change && one.made_for ? "another program's" : "";
}

/** Ask, rename and delete; after a new name or without it, the page goes where the collection is now. */
function CollectionActions({ one }: { one: Collection }) {
  const [isRenaming, setRenaming] = useState(false);
  if (isRenaming)
    return (
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const name = new FormData(event.currentTarget).get("name")?.toString().trim() ?? "";
          setRenaming(false);
          if (!name || name === one.id) return;
          void renameCollection(one.id, name).then((isRenamed) => {
            if (isRenamed && location.pathname === addressOfCollection(one.id)) navigate(addressOfCollection(name), true);
          });
        }}
      >
        <input name="name" type="text" aria-label={`New name of ${one.id}`} defaultValue={one.id} ref={(element) => element?.select()} onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), setRenaming(false))} />{" "}
        <button class="pick">Rename</button>
      </form>
    );
  const remove = () =>
    confirm({
      title: `Delete ${one.id}?`,
      sentences: [
        `${nameCount(one.documents ?? 0, "document")} with ${nameCount(one.passages ?? 0, "passage")} go, and the files of uploads that the server keeps. This cannot be undone.`,
        "Files that were indexed where they lie stay on the disk, and conversations stay as they are.",
      ],
      action: "Delete",
      run: () =>
        void deleteCollection(one.id).then((isDeleted) => {
          if (isDeleted && location.pathname === addressOfCollection(one.id)) navigate("/documents", true);
        }),
    });
  return (
    <>
      <button class="link" onClick={() => (choose({ collection: one.id }), navigate("/"))}>
        Ask<span class="hidden"> {one.id}</span>
      </button>
      {one.may_rename && (
        <>
          <button class="link" onClick={() => setRenaming(true)}>
            Rename<span class="hidden"> {one.id}</span>
          </button>
          <button class="link" onClick={remove}>
            Delete<span class="hidden"> {one.id}</span>
          </button>
        </>
      )}
    </>
  );
}

function OneCollection({ name }: { name: string }) {
  const [documents, setDocuments] = useState<Document[] | null>(null);
  const [problem, setProblem] = useState("");
  const one = collections.value?.find((other) => other.id === name);
  const changes = documentChanges.value;
  const live = liveUploads.value.filter((upload) => upload.value.collection === name);
  const indexedSoFar = live.reduce((sum, upload) => sum + upload.value.files.filter((file) => file.outcome).length, 0);
  useEffect(() => {
    let isCurrent = true;
    const show = (list: Document[] | null, text: string) => {
      if (!isCurrent) return;
      if (list) setDocuments(list);
      setProblem(text);
    };
    listDocuments(name).then(
      (list) => show(list, ""),
      (error) => show(null, error instanceof ApiError ? error.message : String(error)),
    );
    return () => (isCurrent = false);
  }, [name, changes, indexedSoFar, one?.changed, isConnectionLost.value]);
  const here = uploads.value.filter((upload) => upload.value.collection === name);
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
      {problem && !live.length && (
        <p class="soft">
          {problem} {isNew && !here.length && <button class="pick" onClick={() => openAdding()}>Add documents …</button>}
        </p>
      )}
      {documents && <DocumentTable collection={name} documents={documents} mayChange={one?.may_change ?? false} busy={live.length > 0} />}
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
        `Its ${nameCount(one.passages ?? 0, "passage")} go${one.is_upload ? ", and the file that the server keeps of the upload" : ""}. This cannot be undone.`,
        one.is_upload ? "To have it again, drop it again." : "The file itself stays on the disk; quorum index on its folder adds it again.",
      ],
      action: "Remove",
      run: () => void removeDocument(collection, one.id),
    });
  return (
    <tr>
      <td class="path">{name}</td>
      <td class="number" data-label={one.pages ? "pages" : ""}>
        {one.pages?.toLocaleString()}
      </td>
      <td class="number" data-label="passages">
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

function formatDay(time: string | null | undefined): string {
  const date = time ? new Date(time) : null;
  return date && !Number.isNaN(date.getTime()) ? date.toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" }) : "";
}
