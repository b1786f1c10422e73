import type { Redactor } from "../server/secrets.js";
import type { RecordedEvent } from "./recording.js";

/** A chunk of a body as it arrived, and the milliseconds since the chunk before. */
export interface Chunk {
  readonly afterMs: number;
  readonly text: string;
}

const END_OF_EVENT = /\r\n\r\n|\n\n|\r\r/g;

/** Splits a body at the ends of its events. An event has the arrival time of its last byte. */
export function splitEvents(pieces: readonly Chunk[]): Chunk[] {
  const events: Chunk[] = [];
  let unfinished = "";
  let waitedMs = 0;
  for (const { afterMs, text } of pieces) {
    waitedMs += afterMs;
    unfinished += text;
    let start = 0;
    for (const { 0: end, index } of unfinished.matchAll(END_OF_EVENT)) {
      events.push({ afterMs: waitedMs, text: unfinished.slice(start, index + end.length) });
      start = index + end.length;
      waitedMs = 0;
    }
    unfinished = unfinished.slice(start);
  }
  return unfinished === "" ? events : [...events, { afterMs: waitedMs, text: unfinished }];
}

/**
 * Removes the secrets of events: secrets within one text, and secrets that a model writes token by token, spread over
 * one field of several events.
 */
export function redactEvents(events: readonly Chunk[], redactor: Redactor): RecordedEvent[] {
  const texts = events.map(({ text }) => redactor.redactText(text));
  const parsed = texts.map(readData);
  const clean = redactFields(
    parsed.map((data) => data?.value),
    redactor,
  );
  return events.map(({ afterMs }, index) => {
    const text = texts[index] ?? "";
    const original = parsed[index];
    if (!original) return { afterMs, text };
    const data = clean[index];
    const json = JSON.stringify(data);
    // an event without secrets is stored as it arrived
    const hasSecret = json !== JSON.stringify(original.value);
    const whole = hasSecret ? original.head + json + original.tail : text;
    return whole === `data: ${json}\n\n` ? { afterMs, data } : { afterMs, text: whole };
  });
}

/** JSON of an event, and the texts around it. */
interface Data {
  readonly head: string;
  readonly value: unknown;
  readonly tail: string;
}

function readData(text: string): Data | undefined {
  const [, head = "", json, tail = ""] = /^(.*?^data: ?)(\{.*\})([\r\n].*)?$/ms.exec(text) ?? [];
  if (json === undefined) return undefined;
  try {
    return { head, value: JSON.parse(json), tail };
  } catch {
    return undefined;
  }
}

/** A text in an event, with a function that replaces it. */
interface Field {
  readonly text: string;
  readonly replace: (text: string) => void;
}

/** Joins the texts of each field over all events, and removes the secrets from the joined text. */
function redactFields(values: readonly unknown[], redactor: Redactor): unknown[] {
  const copies = structuredClone(values);
  const fields = new Map<string, Field[]>();
  for (const value of copies) if (value !== undefined) collectFields({ value }, "", fields);
  for (const sameField of fields.values()) {
    // a value that each event repeats, such as an id, is not spread over the events
    if (sameField.every(({ text }) => text === sameField[0]?.text)) continue;
    const cleanTexts = redactor.redactChunks(sameField.map(({ text }) => text));
    for (const [index, { text, replace }] of sameField.entries())
      if (cleanTexts[index] !== text) replace(cleanTexts[index] ?? "");
  }
  return copies.map((value) => redactor.redactValue(value));
}

/** Adds the texts of a value to the fields, by their paths. */
function collectFields(parent: object, path: string, fields: Map<string, Field[]>): void {
  for (const [key, value] of Object.entries(parent)) {
    // parallel choices and calls are identified by their `index`
    const step = Array.isArray(parent) ? String((value as { index?: unknown } | null)?.index ?? key) : key;
    const fieldPath = `${path}/${step}`;
    if (typeof value === "object" && value !== null) collectFields(value, fieldPath, fields);
    if (typeof value !== "string") continue;
    const replace = (text: string) => void Object.assign(parent, { [key]: text });
    const sameField = fields.get(fieldPath) ?? [];
    fields.set(fieldPath, sameField);
    sameField.push({ text: value, replace });
  }
}
