import type { ObjectSQL } from "@sluice/durable/internal";
import { readState } from "./record-tables.js";

/** Records of one step of an export. */
const STEP = 20;

/** Streams all records of an object as lines of JSON, in the order of their versions. */
export function exported(sql: ObjectSQL, hasTables: () => boolean): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const rows = hasTables() && readState(sql) ? next() : [];
        if (rows.length === 0) return controller.close();
        at = Number(rows.at(-1)?.["version"]);
        controller.enqueue(encoder.encode(rows.map(lineOf).join("")));
      },
    },
    { highWaterMark: 0 },
  );

  function next(): readonly Record<string, unknown>[] {
    const query = "SELECT key, version, value FROM records WHERE version > ? ORDER BY version LIMIT ?";
    return sql.exec(query, at, STEP).toArray();
  }
}

function lineOf({ key, version, value }: Record<string, unknown>): string {
  return `{"key":${JSON.stringify(key)},"version":${version},"value":${value}}\n`;
}
