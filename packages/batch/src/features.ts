import type { Client } from "@sluice/core";
import { canReplay } from "@sluice/core/extend";
import type { Entry } from "./ledger.js";

/** What the proxy of a run can do. */
export interface Features {
  /** Returns true if the proxy replays responses to this kind of request. Queries it once. @throws {ConnectionError} */
  has(kind: Entry["kind"]): Promise<boolean>;
  /**
   * Returns true if a request with a lost response can be repeated under its key without a second bill.
   *
   * @throws {ConnectionError} if the proxy is unavailable
   */
  canReplay(entry: Entry): Promise<boolean>;
}

/** Creates the features of a client's proxy. */
export function createFeatures(client: Client): Features {
  const fetched = new Map<string, Promise<boolean>>();
  return {
    has(kind) {
      const feature = getFeature(kind);
      const known = fetched.get(feature) ?? canReplay(client, feature);
      fetched.set(feature, known);
      // the next use tries an unavailable proxy again
      known.catch(() => fetched.delete(feature));
      return known;
    },
    async canReplay({ kind, record }) {
      if (record?.key === undefined || record.sentAt === undefined) return false;
      return canReplay(client, getFeature(kind), record.sentAt);
    },
  };
}

function getFeature(kind: Entry["kind"]): "idempotency" | "resumable-streams" {
  return kind === "chat" ? "resumable-streams" : "idempotency";
}
