/** Progress of a call, sent to the caller so that it goes on waiting. */
export interface Report {
  /** Reports a number that grows. */
  at(progress: number, message: string): void;
  /** Changes the message of a wait whose end is not known. */
  waiting(message: string): void;
}

type Send = (progress: number, message: string) => void;

/**
 * Sends progress at most once in `everyMs`, and also where nothing new is known: a caller takes silence for a failure,
 * and cancels what is paid. The number always grows, as the protocol asks for.
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
