import type { NamedRecording } from "../folder.js";
import type { Recording } from "../recording.js";
import { findingsOfAnswer } from "./answer.js";
import { endpointOf, modelsByTask } from "./endpoint.js";
import type { Finding, Found } from "./finding.js";
import { findingsOfRequest } from "./request.js";
import { findingsOfStream, streamOf } from "./stream.js";

/** Findings of {@link checkRecordings}. */
export interface CheckReport {
  /** Number of recordings. */
  readonly count: number;
  readonly findings: readonly Finding[];
}

/** Holds recorded traffic against the specification: requests, statuses, answers and streams. */
export function checkRecordings(recordings: readonly NamedRecording[]): CheckReport {
  const models = modelsByTask(recordings.map(({ recording }) => recording));
  const all = new Map<string, Finding>();
  for (const { name, recording } of recordings) {
    const { endpoint, model } = endpointOf(recording, models);
    for (const { kind, text } of found(recording, endpoint, model)) {
      const key = [kind, endpoint, model, text].join("\n");
      const names = new Set([...(all.get(key)?.recordings ?? []), name]);
      all.set(key, { kind, endpoint, model, text, recordings: [...names] });
    }
  }
  return { count: recordings.length, findings: [...all.values()] };
}

function found(recording: Recording, endpoint: string, model: string): Found[] {
  const stream = streamOf(recording.response);
  const answer = stream ? findingsOfStream(stream, recording) : findingsOfAnswer(recording, endpoint, model);
  return [...findingsOfRequest(recording, endpoint), ...answer];
}
