import type { Call, RecordedStep } from "./calls.js";

/** One stretch of a call, in milliseconds since its first step. */
export interface Stretch {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly tone: "neutral" | "good" | "bad";
  /** Result of the stretch: "429", "1.0 s", "58 tokens/s". */
  readonly note: string;
  /** Says that it is not over. */
  readonly isOpen: boolean;
}

/** Lays the steps of a call out in time: attempts, waits, and the streaming of the answer. */
export function timelineOf({ steps, path }: Call, now: number): readonly Stretch[] {
  const began = steps[0]?.at ?? now;
  return steps.flatMap((step, at): Stretch[] => {
    const later = steps.slice(at + 1);
    const stretch = stretchOf(step, later, path, now);
    return stretch ? [{ ...stretch, from: step.at - began, to: stretch.to - began }] : [];
  });
}

function stretchOf(
  step: RecordedStep,
  later: readonly RecordedStep[],
  path: string,
  now: number,
): Omit<Stretch, "from"> | undefined {
  switch (step.type) {
    case "request": {
      const over = later.find(({ type }) => type === "response" || type === "retry" || type === "end");
      const status = over?.type === "response" ? over.status : undefined;
      const isGood = status !== undefined && status < 400;
      return {
        label: step.path === path ? `Attempt ${step.attempt}` : "Resume",
        to: over?.at ?? now,
        tone: over === undefined ? "neutral" : isGood ? "good" : "bad",
        note: status === undefined ? (over ? "no answer" : "waiting") : String(status),
        isOpen: over === undefined,
      };
    }
    case "retry": {
      const until = step.at + step.delayMs;
      const isOpen = now < until && !later.some(({ type }) => type === "request" || type === "end");
      return {
        label: "Wait",
        to: until,
        tone: "neutral",
        note: isOpen ? `${seconds(until - now)} left` : seconds(step.delayMs),
        isOpen,
      };
    }
    case "first-chunk": {
      const over = later.find(({ type }) => type === "end" || type === "request");
      const speed = over?.type === "end" ? over.timing?.tokensPerSecond : undefined;
      return {
        label: "Stream",
        to: over?.at ?? now,
        tone: "good",
        note: speed === undefined ? "" : `${Math.round(speed)} tokens/s`,
        isOpen: over === undefined,
      };
    }
    default:
      return undefined;
  }
}

/** Writes a time for people: `340 ms`, `1.2 s`. */
export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
