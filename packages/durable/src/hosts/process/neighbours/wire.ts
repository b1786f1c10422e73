import type { OutgoingMessage } from "node:http";
import type { ObjectName } from "../keeper.js";

/*
 * The words between two processes: HTTP/1.1 with these headers. A request that changes something is sent in two steps,
 * `Expect: 100-continue`: its body follows when the object begins to read it, so that the asker knows of each request
 * that broke off whether the object may have had it.
 */

/** Headers of a request: the key of the door, and a {@link Forwarded}. */
export const KEY = "x-sluice-key";
export const REQUEST = "x-sluice-request";
/** Header of an answer by an object: its headers. Without it, the answer is the process' own. */
export const ANSWER = "x-sluice-answer";
/** Status of a process that has not got the object. */
export const ABSENT = 421;

/** Most bytes of all headers, and of one with those of the object: a signed-in user is among them. */
export const MOST_HEADER_BYTES = 128 * 1024;
const MOST_VALUE_BYTES = 96 * 1024;

/** A request for an object, without its method and its body. */
export interface Forwarded {
  readonly object: ObjectName;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
}

/**
 * Writes data as the value of a header: headers in it can't be mistaken for those of the way, and keep all letters.
 *
 * @throws {Error} where it is larger than may be
 */
export function asHeader(data: unknown): string {
  const value = Buffer.from(JSON.stringify(data)).toString("base64url");
  if (value.length <= MOST_VALUE_BYTES) return value;
  throw new Error(`headers of ${value.length} bytes are too large for an object of another process`);
}

/** Reads what `asHeader` wrote. */
export function fromHeader(value: unknown): unknown {
  return JSON.parse(Buffer.from(String(value), "base64url").toString());
}

/** Returns true for a request that may be sent again whatever became of it. */
export function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Sends a body, each piece when there is room for it, and ends. */
export async function sendBody(
  body: ReadableStreamDefaultReader<Uint8Array> | undefined,
  to: OutgoingMessage,
): Promise<void> {
  for (let read = await body?.read(); read && !read.done; read = await body?.read())
    if (!to.write(read.value)) await roomIn(to);
  to.end();
}

/** Resolves when there is room, or when nobody is there any more. */
function roomIn(to: OutgoingMessage): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off("drain", done).off("close", done);
      resolve();
    };
    to.on("drain", done).on("close", done);
  });
}
