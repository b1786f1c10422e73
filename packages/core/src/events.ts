import type { Issue } from "./errors.js";

/** Browser features that a tab can do without. */
export type PlatformFeature = "web-locks" | "broadcast-channel" | "indexed-db" | "web-storage";

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
  /** A chat or a task could not be read from its storage, or not be written there. The work goes on without. */
  | { readonly type: "storage-failure"; readonly error: unknown }
  /** The browser refuses a feature: this tab works for itself. Emitted once for each feature and client. */
  | { readonly type: "platform-limit"; readonly feature: PlatformFeature; readonly error: Error }
  /** The gateway would accept the request and silently ignore a part of it. */
  | { readonly type: "warning"; readonly issue: Issue };
