import { announcement, isConnectionLost, notice, tell } from "../state";

/** What went wrong outside a run. An open dialog tells it itself: behind it, it could be neither seen nor heard. */
export function Notice() {
  const text = isConnectionLost.value ? "The connection to the server is lost; the page goes on when it is back." : notice.value;
  return text ? (
    <p class="notice" role="alert">
      {text} {!isConnectionLost.value && <button class="link" onClick={() => tell("")}>Close</button>}
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
