import type { Client } from "@sluice/core";
import { fetchFeatures, isRemembered } from "@sluice/core/extend";
import type { Entry } from "./ledger.js";

/**
 * Time during which a proxy certainly remembers a streamed chat, in milliseconds: ten minutes after its end, minus one.
 */
const CHAT_MS = 9 * 60_000;

/** The features of a proxy, fetched from `GET /health` once per run. */
export interface Features {
  /** Returns true if the proxy replays responses to this kind of request. @throws {ConnectionError} */
  has(kind: Entry["kind"]): Promise<boolean>;
  /**
   * Returns true if a request with a lost response can be repeated under its key without a second bill.
   *
   * @throws {ConnectionError} if the proxy is unavailable
   */
  canReplay(entry: Entry): Promise<boolean>;
}

/** Creates the features of a client's proxy. A client without keys never fetches them. */
export function createFeatures(client: Client): Features {
  let fetched: Promise<readonly string[]> | undefined;
  return { has, canReplay };

  async function has(kind: Entry["kind"]): Promise<boolean> {
    if (!client.idempotencyKeys) return false;
    fetched ??= fetchFeatures(client);
    // retries an unavailable proxy at the next use
    fetched.catch(() => {
      fetched = undefined;
    });
    return (await fetched).includes(kind === "chat" ? "resumable-streams" : "idempotency");
  }

  async function canReplay({ kind, record }: Entry): Promise<boolean> {
    const { key, sentAt } = record ?? {};
    if (key === undefined || sentAt === undefined) return false;
    return isRemembered(sentAt, kind === "chat" ? CHAT_MS : undefined) && has(kind);
  }
}
