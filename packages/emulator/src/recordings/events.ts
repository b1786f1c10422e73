import type { Redactor } from "../server/secrets.js";
import type { RecordedEvent } from "./recording.js";

/** A piece of a body as it came, and the milliseconds since the one before. */
export interface Piece {
  readonly afterMs: number;
  readonly text: string;
}

const END_OF_EVENT = /\r\n\r\n|\n\n|\r\r/g;

/** Splits a body at the ends of its events. An event has the time at which its last byte came. */
export function splitEvents(pieces: readonly Piece[]): Piece[] {
  const events: Piece[] = [];
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
 * Removes the secrets of events: those within one text, and those that a model writes token by token, over one field of
 * several events.
 */
export function redactEvents(events: readonly Piece[], redactor: Redactor): RecordedEvent[] {
  const texts = events.map(({ text }) => redactor.text(text));
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
    // the same value in another spelling is kept as it came
    const whole = written === JSON.stringify(found.value) ? text : found.head + written + found.tail;
    return whole === `data: ${written}\n\n` ? { afterMs, data } : { afterMs, text: whole };
  });
}

/** JSON of an event, between the texts around it. */
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

/** One text of an event, with the way to replace it. */
interface Field {
  readonly text: string;
  readonly replace: (text: string) => void;
}

/** Joins the texts of each field over all events, and removes the secrets from the whole. */
function redactFields(values: readonly unknown[], redactor: Redactor): unknown[] {
  const copies = structuredClone(values);
  const fields = new Map<string, Field[]>();
  for (const value of copies) if (value !== undefined) collect({ value }, "", fields);
  for (const sameField of fields.values()) {
    // repeated in each event, as an id is, and not a text in pieces
    if (sameField.every(({ text }) => text === sameField[0]?.text)) continue;
    const clean = redactor.pieces(sameField.map(({ text }) => text));
    for (const [at, { text, replace }] of sameField.entries())
      if (clean[at] !== text) replace(clean[at] ?? "");
  }
  return copies.map((value) => redactor.value(value));
}

function collect(parent: object, path: string, fields: Map<string, Field[]>): void {
  for (const [key, value] of Object.entries(parent)) {
    // an item of a list is known by its `index`, as parallel choices and calls are
    const step = Array.isArray(parent) ? String((value as { index?: unknown } | null)?.index ?? key) : key;
    const place = `${path}/${step}`;
    if (typeof value === "object" && value !== null) collect(value, place, fields);
    if (typeof value !== "string") continue;
    const replace = (text: string) => void Object.assign(parent, { [key]: text });
    const sameField = fields.get(place) ?? [];
    fields.set(place, sameField);
    sameField.push({ text: value, replace });
  }
}
