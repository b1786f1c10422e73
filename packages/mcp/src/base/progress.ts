/** Sends progress notifications so that the client does not time out. */
export interface Report {
  /** Reports a growing number. */
  at(progress: number, message: string): void;
  /** Changes the message of a wait without a known end. */
  waiting(message: string): void;
}

type Send = (progress: number, message: string) => void;

/**
 * Sends progress at most once in `everyMs`, even without a change: a caller treats silence as a failure and cancels a
 * paid call. The number always grows, as the protocol requires.
 */
export function reportEvery(everyMs: number, send: Send): Report & { end(): void } {
  let sent = 0;
  let progress = 0;
  let message = "Working";
  const timer = setInterval(() => {
    sent = Math.max(sent + 1, progress);
    send(sent, message);
  }, everyMs);
  return {
    at(reached, text) {
      progress = reached;
      message = text;
    },
    waiting(text) {
      message = text;
    },
    end: () => clearInterval(timer),
  };
}
