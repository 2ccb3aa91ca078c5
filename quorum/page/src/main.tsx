// The page: conversations, the thread or another view, and the source that is open.
import { effect } from "@preact/signals";
import { render } from "preact";
import { Adding, DropZone } from "./components/adding";
import { Confirm } from "./components/confirm";
import { Announcer, Notice } from "./components/notices";
import { Help } from "./components/help";
import { UploadStrip } from "./components/upload_progress";
import { listenToKeys } from "./keyboard";
import { readLink } from "./link";
import { followLinks, route } from "./router";
import { isDrawerOpen, openDialog, source, start, turns } from "./state";
import { startUploads } from "./uploads";
import { Ask } from "./views/ask";
import { Conversations } from "./views/conversations";
import { Documents } from "./views/documents";
import { Label } from "./views/label";
import { Finder } from "./views/finder";
import { Methods } from "./views/methods";
import { Settings } from "./views/settings";
import { SourcePane } from "./views/source";

function View() {
  switch (route.value.view) {
    case "documents":
      return <Documents collection={route.value.collection} />;
    case "label":
      return <Label name={route.value.name} />;
    case "missing":
      return (
        <div class="hero">
          <h1>There is no such page</h1>
          <p>
            <a href="/">Ask a question</a>
          </p>
        </div>
      );
    default:
      return <Ask />;
  }
}

function App() {
  return (
    <div class={`app${source.value ? " with-source" : ""}${isDrawerOpen.value ? " with-drawer" : ""}`}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), (document.getElementById("question") ?? document.getElementById("main"))?.focus())}>
        {route.value.view === "documents" ? "Skip to the documents" : route.value.view === "label" ? "Skip to the answers" : "Skip to the question"}
      </a>
      <Conversations />
      <main id="main" tabIndex={-1}>
        <button class="burger" aria-label="Conversations" aria-expanded={isDrawerOpen.value} onClick={() => (isDrawerOpen.value = !isDrawerOpen.value)}>
          ☰
        </button>
        {!openDialog.value && <Notice />}
        <UploadStrip />
        <View />
      </main>
      <SourcePane />
      <Methods />
      <Settings />
      <Finder />
      <Help />
      <Adding />
      <Confirm />
      <DropZone />
      <Announcer />
    </div>
  );
}

effect(() => {
  document.title = turns.value[0]?.value.title ?? (route.value.view === "documents" ? `${route.value.collection || "Documents"} · Quorum` : route.value.view === "label" ? "Label answers · Quorum" : "Quorum");
});
readLink();
followLinks();
listenToKeys();
render(<App />, document.getElementById("root") as HTMLElement);
void start();
void startUploads();
