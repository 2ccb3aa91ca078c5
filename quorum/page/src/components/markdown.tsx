import { signal } from "@preact/signals";

type Render = (text: string) => string;
const renderer = signal<Render | null>(null);
const address = "/page/markdown.js";

/** Load what renders Markdown: only once there is an answer, so that the page is usable earlier. */
function load(): void {
  if (renderer.value || isRequested) return;
  isRequested = true;
  void import(address).then((module: { render: Render }) => (renderer.value = module.render));
}
let isRequested = false;

/** Markdown of an answer. Until the renderer is here, and if it never comes, its text. */
export function Markdown({ text }: { text: string }) {
  load();
  const render = renderer.value;
  if (!render) return <div class="markdown plain">{text}</div>;
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: render(text) }} />;
}
