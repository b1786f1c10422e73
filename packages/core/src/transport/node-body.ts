import { ConnectionError, type Issue } from "../vocabulary/errors.js";

// only loaded for bodies that are not a standard stream of bytes

/** Warning about a `fetch` that does not stream. */
const NO_STREAM: Issue = {
  path: "",
  message:
    "this fetch does not stream: the response arrives at its end; give createClient a fetch that streams, as expo/fetch does",
  rule: "chat.stream.no-body",
};

/** The reader of a body, as in the Streams standard. */
export type BodyReader = Pick<ReadableStreamDefaultReader<unknown>, "read" | "cancel">;

/**
 * Creates a reader of a non-standard body: a Node stream, or a response without a stream, as in React Native.
 *
 * @param warn gets the warning about a response without a stream
 * @throws {ConnectionError} for a body that other code has read
 */
export function createNodeReader(response: Response, warn?: (issue: Issue) => void): BodyReader {
  const body: unknown = response.body;
  if (body === undefined) warn?.(NO_STREAM);
  if (!body) return createTextReader(response);
  if (response.bodyUsed || (body as ReadableStream).locked) throw createUsedBodyError();
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
  const wasUsed = response.bodyUsed;
  let isRead = false;
  return {
    async read() {
      if (isRead) return { done: true, value: undefined };
      isRead = true;
      const text = response.text().catch((cause: unknown) => {
        throw wasUsed ? createUsedBodyError() : cause;
      });
      return { done: false, value: await text };
    },
    cancel: async () => {},
  };
}

/** Creates a function that converts any piece of a body to bytes: a text, a buffer, or bytes of another realm. */
export function createNodeToBytes(): (piece: unknown) => Uint8Array {
  const encoder = new TextEncoder();
  /** A high surrogate whose low surrogate comes with the next text. */
  let half = "";
  return (piece) => {
    if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
    if (Object.prototype.toString.call(piece) === "[object ArrayBuffer]")
      return new Uint8Array(piece as ArrayBuffer);
    if (typeof piece !== "string")
      throw createUnreadableError(
        `its body gives ${piece === null ? "null" : `values of type ${typeof piece}`} and no bytes: give createClient a \`fetch\` whose body is a stream of Uint8Array`,
      );
    const text = half + piece;
    half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : "";
    return encoder.encode(half ? text.slice(0, -1) : text);
  };
}

function isIterable(body: unknown): body is AsyncIterable<unknown> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

function createUsedBodyError(): ConnectionError {
  return createUnreadableError(
    "something else has read its body: a `fetch` that logs responses must read `response.clone()`",
  );
}

function createUnreadableError(problem: string): ConnectionError {
  return new ConnectionError(`the response can't be read, and may be billed: ${problem}`, "maybe");
}
