/** The progress of a call. Its notifications keep the client from a timeout. */
export interface ProgressReport {
  /** Sets a number that grows, with a message. */
  setProgress(progress: number, message: string): void;
  /** Sets the message of a call without a number. */
  setMessage(message: string): void;
}

type Send = (progress: number, message: string) => void;

/**
 * Sends progress at most once in `everyMs`, even without a change: a caller treats silence as a failure and cancels a
 * paid call. The number always grows, as the protocol requires.
 */
export function reportEvery(everyMs: number, send: Send): ProgressReport & { end(): void } {
  let sent = 0;
  let progress = 0;
  let message = "Working";
  const timer = setInterval(() => {
    sent = Math.max(sent + 1, progress);
    send(sent, message);
  }, everyMs);
  return {
    setProgress(reached, text) {
      progress = reached;
      message = text;
    },
    setMessage(text) {
      message = text;
    },
    end: () => clearInterval(timer),
  };
}
