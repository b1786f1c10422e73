import type { Call, RecordedStep } from "./feed.js";

/** One stretch of a call, in milliseconds since its first step. */
export interface Stretch {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly tone: "neutral" | "good" | "bad";
  /** Result of the stretch: "429", "58 tokens/s"; while it waits to be repeated, the time that is left. */
  readonly note: string;
  /** Says that it is not over. */
  readonly isOpen: boolean;
  /** End of the wait before the next attempt. */
  readonly waitUntil?: number;
  /** Number of attempts that are drawn as one. */
  readonly count?: number;
}

/** Lays the steps of a call out in time: attempts with the waits after them, and the streaming of the answer. */
export function timelineOf({ steps, path }: Call, now: number): readonly Stretch[] {
  const began = steps[0]?.at ?? now;
  const stretches: Stretch[] = [];
  for (const [at, step] of steps.entries()) {
    const later = steps.slice(at + 1);
    const last = stretches.at(-1);
    if (step.type === "retry" && last) stretches[stretches.length - 1] = waiting(last, step, began, now);
    const stretch = stretchOf(step, later, path, now);
    if (!stretch) continue;
    const moved = { ...stretch, from: step.at - began, to: stretch.to - began };
    if (last && isFailedResume(last) && isFailedResume(moved))
      stretches[stretches.length - 1] = { ...moved, from: last.from, count: (last.count ?? 1) + 1 };
    else stretches.push(moved);
  }
  return stretches;
}

const RESUME = "Resume";

function isFailedResume({ label, tone }: Stretch): boolean {
  return label === RESUME && tone === "bad";
}

function waiting(
  stretch: Stretch,
  { at, delayMs }: Extract<RecordedStep, { readonly type: "retry" }>,
  began: number,
  now: number,
): Stretch {
  const left = at + delayMs - now;
  const waitUntil = at + delayMs - began;
  return left > 0 ? { ...stretch, waitUntil, note: `again in ${seconds(left)}` } : { ...stretch, waitUntil };
}

function stretchOf(
  step: RecordedStep,
  later: readonly RecordedStep[],
  path: string,
  now: number,
): Omit<Stretch, "from"> | undefined {
  const isResumption = step.path !== path;
  if (step.type === "request") {
    const over = later.find(({ type }) => type === "response" || type === "retry" || type === "end");
    const next = later.find(({ type }) => type === "request");
    // a resumption that finds no network is repeated without a `retry`
    const end = over && next && next.at < over.at ? next : (over ?? next);
    const status = end?.type === "response" ? end.status : undefined;
    const isGood = status !== undefined && status < 400;
    return {
      label: isResumption ? RESUME : `Attempt ${step.attempt}`,
      to: end?.at ?? now,
      tone: end === undefined ? "neutral" : isGood ? "good" : "bad",
      note: status === undefined ? (end ? "no answer" : "waiting") : String(status),
      isOpen: end === undefined,
    };
  }
  const isStream =
    step.type === "first-chunk" || (step.type === "response" && isResumption && step.status < 400);
  if (!isStream) return undefined;
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

/** Writes a time for people: `340 ms`, `1.2 s`. */
export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
