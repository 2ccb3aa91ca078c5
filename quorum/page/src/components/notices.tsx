import { announcement, isConnectionLost, notice } from "../state";

/** What went wrong outside a run. */
export function Notice() {
  const text = isConnectionLost.value ? "The connection to the server is lost; the page goes on when it is back." : notice.value;
  return text ? (
    <p class="notice" role="alert">
      {text} {!isConnectionLost.value && <button class="link" onClick={() => (notice.value = "")}>Close</button>}
    </p>
  ) : null;
}

/** Tells screen readers the phases and the finished answer. */
export function Announcer() {
  return (
    <div class="hidden" role="status" aria-live="polite">
      {announcement}
    </div>
  );
}
