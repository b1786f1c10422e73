import { toError } from "../vocabulary/errors.js";
import type { ClientEvent, PlatformFeature } from "../vocabulary/events.js";

/** Receiver of events: a client. */
export interface Reporter {
  /** Receives the event. */
  readonly emit: (event: ClientEvent) => void;
}

const reported = new WeakMap<Reporter, Set<PlatformFeature>>();
const refusals = new WeakMap<Error, PlatformFeature>();

/** Emits `feature-unavailable` for a feature that the browser refuses: once for each feature and client. */
export function reportLimit(client: Reporter, feature: PlatformFeature, cause: unknown): void {
  const features = reported.get(client) ?? new Set();
  reported.set(client, features);
  if (features.has(feature)) return;
  features.add(feature);
  client.emit({ type: "feature-unavailable", feature, error: toError(cause) });
}

/** Marks the error of a storage as the browser's refusal of a feature. */
export function markRefusal(feature: PlatformFeature, cause: unknown): Error {
  const error = toError(cause);
  refusals.set(error, feature);
  return error;
}

/** Returns true for an error by which the browser refuses a storage. */
export function isRefusal(error: unknown): boolean {
  return refusals.has(error as Error);
}

/**
 * Emits the failure of a storage: `feature-unavailable` where the browser refuses the storage, otherwise `storage-error`.
 */
export function reportStorageFailure(client: Reporter, error: unknown, messageId?: string): void {
  const feature = refusals.get(error as Error);
  if (feature) reportLimit(client, feature, error);
  else client.emit({ type: "storage-error", error, ...(messageId !== undefined && { messageId }) });
}
