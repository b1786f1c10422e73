/** Kind of a sync failure. */
export type SyncErrorKind =
  /** The same request may succeed later. */
  | "temporary"
  /** Another user is signed in. */
  | "account"
  /** The user is signed out. */
  | "signed-out"
  /** The server refuses the request. The same request fails again. */
  | "request";

/**
 * A failure of the sync: `error` of the storage's status.
 *
 * `code` is the server's code, or `connection_failed`, `not_sync_server` (another server responded),
 * `bad_response`, `timeout`, `account_changed`, `signed_out`, `invalid_id` or `closed`.
 */
export class SyncError extends Error {
  override readonly name = "SyncError";
  readonly kind: SyncErrorKind;
  readonly code: string;
  /** HTTP status of the response; absent without a response. */
  readonly status?: number;
  /** Minimum time before the next request, in milliseconds. */
  readonly retryAfterMs?: number;

  constructor(
    kind: SyncErrorKind,
    code: string,
    message: string,
    details: { readonly status?: number; readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    const { cause, ...fields } = details;
    super(message, { cause });
    this.kind = kind;
    this.code = code;
    Object.assign(this, fields);
  }
}

/** Error as it is stored for all tabs. */
export type StoredError = Pick<SyncError, "kind" | "code" | "message">;

export function toStored({ kind, code, message }: SyncError): StoredError {
  return { kind, code, message };
}

/** Restores an error that a tab has stored. */
export function fromStored({ kind, code, message }: StoredError): SyncError {
  return new SyncError(kind, code, message);
}
