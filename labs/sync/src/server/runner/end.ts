import type { ChatTurn } from "@sluice/stores";
import type { EndedRun } from "./options.js";

/** The end of a turn, before it is reported. */
export interface TurnEnd {
  readonly outcome: EndedRun["outcome"];
  readonly code?: string | undefined;
  /** Error that the page shows, where no message has it. */
  readonly error?: object | undefined;
  readonly upstreamStatus?: number | undefined;
}

/** The error of an answer whose rest is lost with the process that read it. */
export const LOST_ANSWER = {
  name: "StreamError",
  message: "the server was restarted while this answer came; it may be billed",
  reason: "interrupted",
  code: "stream_interrupted",
  billing: "maybe",
};

/** The error of an answer that the proxy has stored, and that is read on. */
export const LEFT_ANSWER = {
  name: "StreamError",
  message: "the server was restarted while this answer came",
  reason: "interrupted",
  billing: "maybe",
};

/** Makes the end of a turn whose records did not fit. */
export function endOfFull(code: string): TurnEnd {
  const message = "the rest of this turn could not be kept, so that it was stopped; it may be billed";
  return {
    outcome: "failed",
    code,
    error: { name: "QuotaExceededError", message, code, billing: "maybe" },
  };
}

const OUTCOMES: Readonly<Record<string, TurnEnd>> = {
  complete: { outcome: "complete" },
  length: { outcome: "complete", code: "length" },
  "content-filter": { outcome: "complete", code: "content_filter" },
  "step-limit": { outcome: "complete", code: "step_limit" },
  stopped: { outcome: "stopped" },
  interrupted: { outcome: "lost", code: "stream_interrupted", error: LOST_ANSWER },
  truncated: { outcome: "cut", code: "stream_interrupted" },
};

/** Returns the end of a turn by the outcome of its last message alone. */
export function endOf(outcome: string): TurnEnd {
  return OUTCOMES[outcome] ?? { outcome: "failed", code: "unknown" };
}

/** Returns the end of a turn as the chat reports it. */
export function endOfTurn({ outcome, error }: Pick<ChatTurn, "outcome" | "error">): TurnEnd {
  const facts = factsOf(error);
  const code = facts["code"] ?? facts["name"] ?? "error";
  if (!error || outcome === "stopped") return endOf(outcome);
  if (facts["reason"] === "interrupted") return endOf("interrupted");
  if (outcome === "truncated") return { ...endOf(outcome), ...(facts["code"] && { code }) };
  const status = Number(facts["status"]);
  const isRefused = outcome === "not-sent" || (status >= 400 && status < 500);
  return {
    outcome: isRefused ? "refused" : "failed",
    code,
    ...(status > 0 && { upstreamStatus: status }),
    ...(outcome === "not-sent" && {
      error: { ...facts, billing: "none", ...(status > 0 && { status }) },
    }),
  };
}

/** The fields of an error that a record has. */
function factsOf(error: unknown): Record<string, string> {
  const names = ["name", "message", "code", "status", "reason", "phase", "type"];
  const of = (error ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    names.flatMap((name) =>
      ["string", "number"].includes(typeof of[name]) ? [[name, String(of[name])]] : [],
    ),
  );
}
