import type { NamedTape } from "../folder.js";
import type { Tape } from "../tape.js";
import { findingsOfAnswer } from "./answer.js";
import { endpointOf, modelsByTask } from "./endpoint.js";
import type { Finding, Found } from "./finding.js";
import { findingsOfRequest } from "./request.js";
import { findingsOfStream, streamOf } from "./stream.js";

/** Findings of {@link checkTapes}. */
export interface CheckReport {
  /** Number of tapes. */
  readonly count: number;
  readonly findings: readonly Finding[];
}

/** Holds recorded traffic against the specification: requests, statuses, answers and streams. */
export function checkTapes(tapes: readonly NamedTape[]): CheckReport {
  const models = modelsByTask(tapes.map(({ tape }) => tape));
  const all = new Map<string, Finding>();
  for (const { name, tape } of tapes) {
    const { endpoint, model } = endpointOf(tape, models);
    for (const { kind, text } of found(tape, endpoint, model)) {
      const key = [kind, endpoint, model, text].join("\n");
      const names = new Set([...(all.get(key)?.tapes ?? []), name]);
      all.set(key, { kind, endpoint, model, text, tapes: [...names] });
    }
  }
  return { count: tapes.length, findings: [...all.values()] };
}

function found(tape: Tape, endpoint: string, model: string): Found[] {
  const stream = streamOf(tape.response);
  const answer = stream ? findingsOfStream(stream, tape) : findingsOfAnswer(tape, endpoint, model);
  return [...findingsOfRequest(tape, endpoint), ...answer];
}
