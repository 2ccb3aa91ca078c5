// A link that fills the box: /?q=Who+wrote+it%3F&methods=concat,sure[k=3]&collection=handbook&set=temperature=0.7
import { navigate } from "./router";
import { choose, drafts } from "./state";

/** Fill the box with what the page's address says. It never asks by itself: that may cost money, so it takes a person. */
export function readLink(): void {
  if (location.pathname !== "/" || !location.search) return;
  const given = new URLSearchParams(location.search);
  const question = given.get("q");
  if (question) drafts.value = { ...drafts.value, new: question };
  const methods = (given.get("methods") ?? "").match(/[^,[\]]+(\[[^\]]*\])?/g)?.map((name) => name.trim());
  const pairs = given.getAll("set").map((text) => [text.slice(0, text.indexOf("=")).trim(), text.slice(text.indexOf("=") + 1).trim()] as const);
  const settings = Object.fromEntries([...(given.has("k") ? [["k", given.get("k") ?? ""] as const] : []), ...pairs.filter(([name]) => name)]);
  choose({
    ...(methods?.length ? { methods } : {}),
    ...(given.get("collection") ? { collection: given.get("collection") ?? "" } : {}),
    ...(given.get("model") ? { model: given.get("model") ?? "" } : {}),
    ...(Object.keys(settings).length ? { settings } : {}),
  });
  navigate("/", true);
}
