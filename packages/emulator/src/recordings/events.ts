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
  let open = "";
  let waited = 0;
  for (const { afterMs, text } of pieces) {
    waited += afterMs;
    open += text;
    let start = 0;
    for (const { 0: end, index } of open.matchAll(END_OF_EVENT)) {
      events.push({ afterMs: waited, text: open.slice(start, index + end.length) });
      start = index + end.length;
      waited = 0;
    }
    open = open.slice(start);
  }
  return open === "" ? events : [...events, { afterMs: waited, text: open }];
}

/**
 * Removes the secrets of events: secrets within one text, and secrets that a model writes token by token, spread over
 * one field of several events.
 */
export function redactEvents(events: readonly Chunk[], redactor: Redactor): RecordedEvent[] {
  const texts = events.map(({ text }) => redactor.redactText(text));
  const before = texts.map(readData);
  const after = redactFields(
    before.map((found) => found?.value),
    redactor,
  );
  return events.map(({ afterMs }, at) => {
    const text = texts[at] ?? "";
    const found = before[at];
    if (!found) return { afterMs, text };
    const data = after[at];
    const written = JSON.stringify(data);
    // keep the spelling of an event without secrets
    const whole = written === JSON.stringify(found.value) ? text : found.head + written + found.tail;
    return whole === `data: ${written}\n\n` ? { afterMs, data } : { afterMs, text: whole };
  });
}

/** JSON of an event, and the texts around it. */
interface Data {
  readonly head: string;
  readonly value: unknown;
  readonly tail: string;
}

function readData(text: string): Data | undefined {
  const [, head = "", written, tail = ""] = /^(.*?^data: ?)(\{.*\})([\r\n].*)?$/ms.exec(text) ?? [];
  if (written === undefined) return undefined;
  try {
    return { head, value: JSON.parse(written), tail };
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
  for (const value of copies) if (value !== undefined) collect({ value }, "", fields);
  for (const sameField of fields.values()) {
    // a field such as an id, repeated in each event
    if (sameField.every(({ text }) => text === sameField[0]?.text)) continue;
    const clean = redactor.redactChunks(sameField.map(({ text }) => text));
    for (const [at, { text, replace }] of sameField.entries())
      if (clean[at] !== text) replace(clean[at] ?? "");
  }
  return copies.map((value) => redactor.redactValue(value));
}

function collect(parent: object, path: string, fields: Map<string, Field[]>): void {
  for (const [key, value] of Object.entries(parent)) {
    // parallel choices and calls are identified by their `index`
    const step = Array.isArray(parent) ? String((value as { index?: unknown } | null)?.index ?? key) : key;
    const fieldPath = `${path}/${step}`;
    if (typeof value === "object" && value !== null) collect(value, fieldPath, fields);
    if (typeof value !== "string") continue;
    const replace = (text: string) => void Object.assign(parent, { [key]: text });
    const sameField = fields.get(fieldPath) ?? [];
    fields.set(fieldPath, sameField);
    sameField.push({ text: value, replace });
  }
}
