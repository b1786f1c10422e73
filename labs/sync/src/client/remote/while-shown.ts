import type { Client } from "@sluice/core";
import { createPagePresence, toIdleClock } from "@sluice/core/extend";
import { addAbortListener } from "../base.js";

/** Time for which a hidden page goes on, in milliseconds. */
const HIDDEN_MS = 60_000;

/**
 * Waits until the page is shown, and runs `act` until it has been hidden for a minute.
 *
 * @param act its signal aborts with `signal`, and after that minute; its end by that is no error
 * @throws the error of `act`; nothing after `signal` has aborted
 */
export async function whileShown(
  client: Client,
  signal: AbortSignal,
  act: (shown: AbortSignal) => Promise<void>,
): Promise<void> {
  const presence = createPagePresence(() => false);
  const ended = new AbortController();
  const ignore = addAbortListener(signal, () => ended.abort(signal.reason));
  let hidden: AbortController | undefined;
  const leave = presence.subscribe(check);
  try {
    await shown();
    check();
    await act(ended.signal);
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    leave();
    ignore();
    hidden?.abort(null);
  }

  function shown(): Promise<void> {
    if (!presence.absence) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = presence.subscribe(() => {
        if (presence.absence) return;
        stop();
        resolve();
      });
      addAbortListener(ended.signal, () => {
        stop();
        resolve();
      });
    });
  }

  function check(): void {
    if (!presence.absence) {
      hidden?.abort(null);
      hidden = undefined;
    } else if (!hidden) {
      hidden = new AbortController();
      toIdleClock(client.clock)
        .sleep(HIDDEN_MS, hidden.signal)
        .then(
          () => ended.abort(new DOMException("the page is hidden", "AbortError")),
          () => {},
        );
    }
  }
}
