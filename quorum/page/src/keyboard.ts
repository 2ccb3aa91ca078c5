// Keys that work anywhere on the page.
import { isDrawerOpen, openDialog, source, stop, turns } from "./state";

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openDialog.value = openDialog.value === "find" ? "" : "find";
    } else if (event.key === "Escape") {
      close();
    } else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !openDialog.value) {
      if (event.key === "?") openDialog.value = "help";
      else if (event.key === "/") {
        event.preventDefault();
        document.getElementById("question")?.focus();
      } else if (/^[1-9]$/.test(event.key)) {
        const turn = [...document.querySelectorAll(".turn")].at(-1);
        turn?.querySelectorAll<HTMLElement>("button.source")[Number(event.key) - 1]?.click();
      }
    }
  });
}

/** Esc closes what is open, the topmost first; with nothing open it stops the run. */
function close(): void {
  if (openDialog.value) openDialog.value = "";
  else if (source.value) source.value = null;
  else if (isDrawerOpen.value) isDrawerOpen.value = false;
  else if (turns.value.some((turn) => turn.value.state === "running")) {
    for (const turn of turns.value) if (turn.value.state === "running") void stop(turn);
  } else if (document.activeElement instanceof HTMLElement) document.activeElement.blur(); // so that keys such as 1 work
}
