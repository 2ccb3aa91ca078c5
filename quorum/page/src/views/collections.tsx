import { useEffect, useRef, useState } from "preact/hooks";
import type { Collection } from "../api";
import { confirm } from "../components/confirm";
import { openAdding } from "../components/adding";
import { UnsentFiles } from "../components/upload_progress";
import { navigate } from "../router";
import { choose, collections, mayMakeCollections } from "../state";
import { formatBytes, nameCount } from "../upload_view";
import { deleteCollection, renameCollection } from "../uploads";

export function Heading({ children }: { children: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [children]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

const addressOfCollection = (name: string) => `/documents/${encodeURIComponent(name)}`;

export function AllCollections() {
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
              <td class="number" data-label={one.documents === 1 ? "document" : "documents"}>
                {one.documents?.toLocaleString()}
              </td>
              <td class="number" data-label={one.passages === 1 ? "passage" : "passages"}>
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

export function describeState(one: Collection): string {
  if (one.state === "unreadable") return "cannot be read";
  if (one.state === "changing") return "is being changed";
  if (one.is_sample) return "the sample, which stays as it is";
  if (one.made_for === "evaluation") return "made by an evaluation";
  return !one.may_change && one.made_for ? "another program's" : "";
}

/** Ask, rename and delete; after a new name or without it, the page goes where the collection is now. */
export function CollectionActions({ one }: { one: Collection }) {
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

export function formatDay(time: string | null | undefined): string {
  const date = time ? new Date(time) : null;
  return date && !Number.isNaN(date.getTime()) ? date.toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" }) : "";
}
