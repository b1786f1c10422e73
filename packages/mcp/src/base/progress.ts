/** The progress of a call. Its notifications keep the client from a timeout. */
export interface ProgressReport {
  /** Sets a number that grows, with a message. */
  setProgress(progress: number, message: string): void;
  /** Sets the message of a call without a number. */
  setMessage(message: string): void;
}

type Send = (progress: number, message: string) => void;

/**
 * Sends the progress every `everyMs` milliseconds, also without a change: a caller cancels a silent call, which may be
 * paid. The number always grows, as the protocol requires.
 */
export function reportEvery(everyMs: number, send: Send): ProgressReport & { end(): void } {
  let lastSent = 0;
  let progress = 0;
  let message = "Working";
  const timer = setInterval(() => {
    lastSent = Math.max(lastSent + 1, progress);
    send(lastSent, message);
  }, everyMs);
  return {
    setProgress(newProgress, text) {
      progress = newProgress;
      message = text;
    },
    setMessage(text) {
      message = text;
    },
    end: () => clearInterval(timer),
  };
}
