import type { PartRow } from "./table.js";

/** Consecutive events of a response that arrived together or share a row. */
export interface Part {
  readonly firstId: number;
  readonly lastId: number;
  readonly text: string;
  /** Size of the text in bytes. A part holds no bytes, because those of a small part take several times its size. */
  readonly size: number;
}

/** Maximum size of a part that holds several events, in characters. */
const PART_CHARACTERS = 64 * 1024;
/** Maximum size of a row that holds several parts, in bytes. */
const ROW_BYTES = 1_000_000;
/** Maximum size of a row, in bytes. The limit of a Durable Object is 2 MB. */
export const MAX_ROW_BYTES = 1_500_000;

const encoder = new TextEncoder();

/** Counts the bytes of a text in UTF-8. */
function countBytes(text: string): number {
  return encoder.encode(text).byteLength;
}

/**
 * Makes parts of events, and gives each event its id.
 *
 * @param events the lines of each event, without `id` and blank line
 * @param before the id of the event before the first
 */
export function makeEventParts(events: readonly string[], before: number): readonly Part[] {
  const parts: Part[] = [];
  let lastId = before;
  let firstId = before + 1;
  let text = "";
  const push = () => parts.push({ firstId, lastId, text, size: countBytes(text) });
  for (const event of events) {
    if (text !== "" && text.length + event.length > PART_CHARACTERS) {
      push();
      firstId = lastId + 1;
      text = "";
    }
    lastId += 1;
    // databases can't store NUL, and JSON contains it only in escaped form
    text += `id: ${lastId}\n${event.replaceAll("\0", "\ufffd")}\n\n`;
  }
  if (text !== "") push();
  return parts;
}

/** Splits a text other than an event stream into numbered parts, never within a surrogate pair. */
export function makeTextParts(whole: string): readonly Part[] {
  const parts: Part[] = [];
  for (let start = 0; start < whole.length; ) {
    let end = Math.min(whole.length, start + 4 * PART_CHARACTERS);
    if (end < whole.length && isHighSurrogate(whole.charCodeAt(end - 1))) end -= 1;
    const text = whole.slice(start, end);
    const id = parts.length + 1;
    parts.push({ firstId: id, lastId: id, text, size: countBytes(text) });
    start = end;
  }
  return parts;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Merges parts into few large rows, because each row costs. */
export function makeRows(parts: readonly Part[]): readonly PartRow[] {
  const rows: PartRow[] = [];
  let text = "";
  let size = 0;
  let last_id = 0;
  for (const part of parts) {
    if (text !== "" && size + part.size > ROW_BYTES) {
      rows.push({ last_id, text });
      text = "";
      size = 0;
    }
    text += part.text;
    size += part.size;
    last_id = part.lastId;
  }
  if (text !== "") rows.push({ last_id, text });
  return rows;
}

/** Makes a part of a row, from the first event after `after`. Events contain no blank line. */
export function readRow({ last_id, text }: PartRow, after: number): Part {
  const start = `id: ${after + 1}\n`;
  const at = text.startsWith(start) ? 0 : text.indexOf(`\n\n${start}`);
  const rest = at > 0 ? text.slice(at + 2) : text;
  return { firstId: after + 1, lastId: last_id, text: rest, size: countBytes(rest) };
}

/** Cuts a part so that it begins with the first event after `after`. */
export function cutPart(part: Part, after: number): Part {
  return part.firstId > after ? part : readRow({ last_id: part.lastId, text: part.text }, after);
}
