import type { BodyReader } from "./odd-body.js";

/**
 * Opens the body of an answer. A `fetch` of the app's own may give a stream of Node, no stream, or one that other code
 * reads: the code for those is loaded when one comes.
 */
export function bodyReaderOf(response: Response): BodyReader {
  const { body } = response;
  if (typeof body?.getReader === "function" && !body.locked && !response.bodyUsed) return body.getReader();
  const loading = import("./odd-body.js").then(({ oddReaderOf }) => oddReaderOf(response));
  loading.catch(() => {});
  return {
    read: async () => (await loading).read(),
    cancel: async (reason) => (await loading).cancel(reason),
  };
}

/** Creates a function that makes bytes of a piece of a body. Any piece but bytes makes it load the code for others. */
export function createBytesOf(): (piece: unknown) => Uint8Array | Promise<Uint8Array> {
  let loading: Promise<(piece: unknown) => Uint8Array> | undefined;
  return (piece) => {
    if (piece instanceof Uint8Array) return piece;
    loading ??= import("./odd-body.js").then(({ createOddBytesOf }) => createOddBytesOf());
    return loading.then((bytesOf) => bytesOf(piece));
  };
}
