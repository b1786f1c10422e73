import { ConnectionError, type Issue } from "../vocabulary/errors.js";

// loaded for the few bodies that are no stream of bytes

/** Warning of a `fetch` whose answers have no stream. */
const NO_STREAM: Issue = {
  path: "",
  message:
    "this fetch does not stream: the answer comes at its end; give createClient a fetch that streams, as expo/fetch does",
  rule: "chat.stream.no-body",
};

/** The reader of a body, as the standard has it. */
export type BodyReader = Pick<ReadableStreamDefaultReader<unknown>, "read" | "cancel">;

/**
 * Opens a body that is no stream of the standard: a stream of Node, or a response without one, as in React Native.
 *
 * @param warn gets the warning of a response without a stream
 * @throws {ConnectionError} for a body that other code reads
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

/** Creates a function that makes bytes of any piece of a body: a text, a buffer, or bytes of another realm. */
export function createNodeToBytes(): (piece: unknown) => Uint8Array {
  const encoder = new TextEncoder();
  /** The first half of a character whose second half comes with the next text. */
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
    "something else has read its body: a `fetch` that logs answers must read `response.clone()`",
  );
}

function createUnreadableError(problem: string): ConnectionError {
  return new ConnectionError(`the answer can't be read, and may be billed: ${problem}`, "maybe");
}
