import type { Issue } from "./errors.js";

/**
 * What a client tells `onEvent`: enough for logs and meters, never a body, a header or a key.
 * `path` is the gateway's path, times are milliseconds.
 */
export type ClientEvent =
  | { readonly type: "request"; readonly path: string; readonly attempt: number }
  | {
      readonly type: "response";
      readonly path: string;
      readonly status: number;
      readonly ms: number;
      readonly requestId?: string;
    }
  | { readonly type: "retry"; readonly path: string; readonly attempt: number; readonly error: Error }
  | { readonly type: "stream-start"; readonly path: string; readonly firstByteMs: number }
  | { readonly type: "stream-end"; readonly path: string; readonly totalMs: number; readonly error?: unknown }
  /** A thread could not be read from its storage, or not be written there; the chat goes on without. */
  | { readonly type: "storage-failure"; readonly error: unknown }
  /** The gateway would accept the request and silently ignore a part of it. */
  | { readonly type: "warning"; readonly issue: Issue };
