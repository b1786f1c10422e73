import { toError } from "../vocabulary/errors.js";
import type { ClientEvent, PlatformFeature } from "../vocabulary/events.js";

/** Receiver of events: a client. */
export interface Reporter {
  /** Receives the event. */
  readonly emit: (event: ClientEvent) => void;
}

const reported = new WeakMap<Reporter, Set<PlatformFeature>>();
const refusals = new WeakMap<Error, PlatformFeature>();

/** Emits `feature-unavailable` once for each feature and client. */
export function reportLimit(client: Reporter, feature: PlatformFeature, cause: unknown): void {
  const features = reported.get(client) ?? new Set();
  reported.set(client, features);
  if (features.has(feature)) return;
  features.add(feature);
  client.emit({ type: "feature-unavailable", feature, error: toError(cause) });
}

/** Marks a storage error as caused by an unavailable browser feature. */
export function markRefusal(feature: PlatformFeature, cause: unknown): Error {
  const error = toError(cause);
  refusals.set(error, feature);
  return error;
}

/** Returns true for a storage error caused by an unavailable browser feature. */
export function isRefusal(error: unknown): boolean {
  return refusals.has(error as Error);
}

/** Emits a storage failure: `feature-unavailable` if the browser blocks the storage, otherwise `storage-error`. */
export function reportStorageFailure(client: Reporter, error: unknown, messageId?: string): void {
  const feature = refusals.get(error as Error);
  if (feature) reportLimit(client, feature, error);
  else client.emit({ type: "storage-error", error, ...(messageId !== undefined && { messageId }) });
}
