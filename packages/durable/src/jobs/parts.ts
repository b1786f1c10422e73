import type { PartRow } from "./table.js";

/** Some events of a response, in the order of their ids. They came together, or are in one row. */
export interface Part {
  readonly firstId: number;
  readonly lastId: number;
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Size from which events that came together are parts of their own, in characters. */
const PART_CHARACTERS = 64 * 1024;
/** Size of a row that holds several parts, in bytes. */
const ROW_BYTES = 1_000_000;
/** Largest row, in bytes. That of a Durable Object is 2 MB. */
export const MAX_ROW_BYTES = 1_500_000;

const encoder = new TextEncoder();

/**
 * Makes parts of events: each gets its id.
 *
 * @param events lines of some events, without `id` and blank line
 * @param before the id of the last event before them
 */
export function makeEventParts(events: readonly string[], before: number): readonly Part[] {
  const parts: Part[] = [];
  let lastId = before;
  let firstId = before + 1;
  let text = "";
  const push = () => parts.push({ firstId, lastId, text, bytes: encoder.encode(text) });
  for (const event of events) {
    if (text !== "" && text.length + event.length > PART_CHARACTERS) {
      push();
      firstId = lastId + 1;
      text = "";
    }
    lastId += 1;
    // no database stores it, and no JSON has it unescaped
    text += `id: ${lastId}\n${event.replaceAll("\0", "\ufffd")}\n\n`;
  }
  if (text !== "") push();
  return parts;
}

/** Makes parts of a text that is no event stream: its pieces, numbered. No piece ends within a character. */
export function makeTextParts(whole: string): readonly Part[] {
  const parts: Part[] = [];
  for (let start = 0; start < whole.length; ) {
    let end = Math.min(whole.length, start + 4 * PART_CHARACTERS);
    if (end < whole.length && isHighSurrogate(whole.charCodeAt(end - 1))) end -= 1;
    const text = whole.slice(start, end);
    const id = parts.length + 1;
    parts.push({ firstId: id, lastId: id, text, bytes: encoder.encode(text) });
    start = end;
  }
  return parts;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Makes rows of parts: few large ones, since each costs. */
export function makeRows(parts: readonly Part[]): readonly PartRow[] {
  const rows: PartRow[] = [];
  let text = "";
  let size = 0;
  let last_id = 0;
  for (const part of parts) {
    if (text !== "" && size + part.bytes.byteLength > ROW_BYTES) {
      rows.push({ last_id, text });
      text = "";
      size = 0;
    }
    text += part.text;
    size += part.bytes.byteLength;
    last_id = part.lastId;
  }
  if (text !== "") rows.push({ last_id, text });
  return rows;
}

/** Makes a part of a row, from the event behind `after` on. No event has a blank line in it. */
export function readRow({ last_id, text }: PartRow, after: number): Part {
  const start = `id: ${after + 1}\n`;
  const at = text.startsWith(start) ? 0 : text.indexOf(`\n\n${start}`);
  const rest = at > 0 ? text.slice(at + 2) : text;
  return { firstId: after + 1, lastId: last_id, text: rest, bytes: encoder.encode(rest) };
}

/** Returns the part from the event behind `after` on. */
export function cutPart(part: Part, after: number): Part {
  return part.firstId > after ? part : readRow({ last_id: part.lastId, text: part.text }, after);
}
