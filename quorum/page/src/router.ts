// The page's addresses: / to ask, /c/ID a conversation, /documents/COLLECTION, /label/LIST. Back and reload restore each.
import { computed, signal } from "@preact/signals";

export type Route = { view: "ask" } | { view: "conversation"; id: string } | { view: "documents"; collection: string } | { view: "label"; name: string } | { view: "missing" };

const path = signal(location.pathname);

export const route = computed<Route>(() => {
  const [first = "", second = "", third] = path.value.slice(1).split("/").map(decode);
  if (!first) return { view: "ask" };
  if (first === "c" && second && third === undefined) return { view: "conversation", id: second };
  if (first === "documents" && third === undefined) return { view: "documents", collection: second };
  if (first === "label" && third === undefined) return { view: "label", name: second };
  return { view: "missing" };
});

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Go to an address of the page. replace: without a step that Back would undo. */
export function navigate(address: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  path.value = location.pathname;
}

/** Let links to the page's own addresses change the view without loading the page anew. */
export function followLinks(): void {
  addEventListener("popstate", () => (path.value = location.pathname));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href^='/']");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.hasAttribute("download") || link.target || /^\/(v1|page)\//.test(link.pathname)) return;
    event.preventDefault();
    navigate(link.pathname + link.hash);
  });
}
