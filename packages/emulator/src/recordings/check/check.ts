import type { NamedRecording } from "../folder.js";
import type { Recording } from "../recording.js";
import { findEndpoint, findModelsByTask } from "./endpoint.js";
import type { Finding, Found } from "./finding.js";
import { checkRecordedRequest } from "./request.js";
import { checkResponse } from "./response.js";
import { checkStream, readStream } from "./stream.js";

/** Findings of {@link checkRecordings}. */
export interface CheckReport {
  /** Number of recordings. */
  readonly count: number;
  readonly findings: readonly Finding[];
}

/** Compares recorded traffic with the specification: requests, statuses, responses and streams. */
export function checkRecordings(recordings: readonly NamedRecording[]): CheckReport {
  const models = findModelsByTask(recordings.map(({ recording }) => recording));
  const all = new Map<string, Finding>();
  for (const { name, recording } of recordings) {
    const { endpoint, model } = findEndpoint(recording, models);
    for (const { kind, text } of checkExchange(recording, endpoint, model)) {
      const key = [kind, endpoint, model, text].join("\n");
      const names = new Set([...(all.get(key)?.recordings ?? []), name]);
      all.set(key, { kind, endpoint, model, text, recordings: [...names] });
    }
  }
  return { count: recordings.length, findings: [...all.values()] };
}

function checkExchange(recording: Recording, endpoint: string, model: string): Found[] {
  const stream = readStream(recording.response);
  const answer = stream ? checkStream(stream, recording) : checkResponse(recording, endpoint, model);
  return [...checkRecordedRequest(recording, endpoint), ...answer];
}
