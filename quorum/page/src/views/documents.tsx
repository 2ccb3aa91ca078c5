import { collections } from "../state";

/** The documents of a collection. */
export function Documents({ collection }: { collection: string }) {
  const shown = (collections.value ?? []).filter((one) => !collection || one.id === collection);
  return (
    <div class="page-view">
      <h1>Documents</h1>
      <ul>
        {shown.map((one) => (
          <li key={one.id}>
            <a href={`/documents/${encodeURIComponent(one.id)}`}>{one.id}</a> <span class="soft">{one.documents ?? "?"} documents, {one.passages ?? "?"} passages</span>
          </li>
        ))}
      </ul>
      <p class="soft">
        Add documents with <code>quorum index FOLDER</code>, or with <code>quorum serve --old-page</code>.
      </p>
    </div>
  );
}
