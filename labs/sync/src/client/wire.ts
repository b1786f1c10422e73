import { isObject, isText } from "./json.js";

/** A record on the server. `value` is null for a removed record. */
export interface Change {
  readonly record: string;
  readonly version: number;
  readonly value: unknown;
}

/** A page of `pull`. */
export interface PullPage {
  readonly changes: readonly Change[];
  readonly cursor: string;
  readonly hasMore: boolean;
}

/** Result of one change of a `push`. */
export interface PushResult extends Change {
  readonly status: "stored" | "conflict" | "refused" | "skipped";
  readonly code: string;
  readonly message: string;
}

/** Response to a `push`. */
export interface PushResponse {
  readonly results: readonly PushResult[];
  readonly cursor: string | null;
}

/** Parses the response of `pull`; undefined for another shape. */
export function parsePage(json: Record<string, unknown>): PullPage | undefined {
  const { changes, cursor, hasMore } = json;
  if (!Array.isArray(changes) || !isText(cursor) || typeof hasMore !== "boolean") return undefined;
  // the client would request an empty page forever
  if (hasMore && changes.length === 0) return undefined;
  return changes.every(isChange) ? { changes, cursor, hasMore } : undefined;
}

/** Parses the response of `push`; undefined unless it has one result for each change, in order. */
export function parsePush(
  json: Record<string, unknown>,
  sent: readonly { readonly record: string }[],
): PushResponse | undefined {
  const { results, cursor } = json;
  if (!Array.isArray(results) || results.length !== sent.length) return undefined;
  if (cursor !== null && !isText(cursor)) return undefined;
  const parsed = results.flatMap((result: unknown, nth) => parseResult(result, sent[nth]?.record) ?? []);
  return parsed.length === sent.length ? { results: parsed, cursor } : undefined;
}

function parseResult(result: unknown, record: string | undefined): PushResult | undefined {
  if (!isObject(result) || record === undefined || result["record"] !== record) return undefined;
  const { status, version = 0, value = null, code, message } = result;
  if (!isStatus(status) || typeof version !== "number") return undefined;
  const text = isText(message) ? message : String(code);
  return { record, status, version, value, code: isText(code) ? code : "refused", message: text };
}

function isStatus(status: unknown): status is PushResult["status"] {
  return status === "stored" || status === "conflict" || status === "refused" || status === "skipped";
}

function isChange(change: unknown): change is Change {
  return (
    isObject(change) && isText(change["record"]) && typeof change["version"] === "number" && "value" in change
  );
}
