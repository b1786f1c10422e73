import { type BodyReader, createUnreadableError } from "./read-body.js";

type Fetch = (request: Request) => Promise<Response>;

/**
 * Adapts a `fetch` whose responses have no standard stream of bytes, for the option `fetch` of `createClient`. Supports
 * React Native's `fetch`, which has no stream, and a body that is a Node stream or a stream of text. A response without
 * a stream arrives as a whole, at its end.
 *
 * @example
 * ```ts
 * const client = createClient({ baseURL: "https://proxy.example.com", fetch: standardFetch((request) => fetch(request)) });
 * ```
 */
export function standardFetch(fetch: Fetch): Fetch {
  return async (request) => {
    const response = await fetch(request);
    const { ok, status, statusText, headers, url, type, redirected } = response;
    const body = createBody(response);
    return { ok, status, statusText, headers, url, type, redirected, body, bodyUsed: false } as Response;
  };
}

/** The part of a `ReadableStream` that the client uses. Some platforms have no such class. */
type Body = Pick<ReadableStream<Uint8Array>, "locked" | "cancel" | "getReader">;

function createBody(response: Response): Body {
  const toBytes = createToBytes();
  let reader: BodyReader | undefined;
  const body = {
    get locked() {
      return reader !== undefined;
    },
    cancel: (reason?: unknown) => body.getReader().cancel(reason),
    getReader() {
      const inner = createReader(response);
      reader = {
        async read() {
          const { done, value } = await inner.read();
          return done ? { done, value: undefined } : { done: false, value: toBytes(value) };
        },
        cancel: (reason) => inner.cancel(reason),
      };
      return reader;
    },
  };
  return body as unknown as Body;
}

function createReader(response: Response): BodyReader {
  const { bodyUsed } = response;
  const body: unknown = response.body;
  const { locked, getReader } = (body ?? {}) as Partial<ReadableStream>;
  if (bodyUsed || locked)
    return { read: () => Promise.reject(createUnreadableError()), cancel: async () => {} };
  if (getReader) return (body as ReadableStream).getReader();
  return isIterable(body) ? createIteratorReader(body) : createTextReader(response);
}

function createIteratorReader(body: AsyncIterable<unknown>): BodyReader {
  const pieces = body[Symbol.asyncIterator]();
  return {
    async read() {
      const { done, value } = await pieces.next();
      return done ? { done: true, value: undefined } : { done: false, value };
    },
    async cancel() {
      await pieces.return?.();
    },
  };
}

function createTextReader(response: Response): BodyReader {
  let isRead = false;
  return {
    async read() {
      if (isRead) return { done: true, value: undefined };
      isRead = true;
      return { done: false, value: await response.text() };
    },
    cancel: async () => {},
  };
}

/** Creates a function that converts any piece of a body to bytes: a text, a buffer, or bytes of another realm. */
function createToBytes(): (piece: unknown) => Uint8Array {
  const encoder = new TextEncoder();
  /** A high surrogate whose low surrogate comes with the next text. */
  let half = "";
  return (piece) => {
    if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
    if (Object.prototype.toString.call(piece) === "[object ArrayBuffer]")
      return new Uint8Array(piece as ArrayBuffer);
    if (typeof piece !== "string") throw createUnreadableError();
    const text = half + piece;
    half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : "";
    return encoder.encode(half ? text.slice(0, -1) : text);
  };
}

function isIterable(body: unknown): body is AsyncIterable<unknown> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}
