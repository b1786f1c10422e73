import type { Client } from "@sluice/core";
import { fetchOffers, isRemembered } from "@sluice/core/internal";
import type { Entry } from "./ledger.js";

/** Time for which a proxy surely remembers a streamed chat, in milliseconds: ten minutes after its end, less one. */
const CHAT_MS = 9 * 60_000;

/** The answers of a proxy to `GET /health`, asked once for each run. */
export interface Offers {
  /** Returns true if the proxy answers this kind of request from its memory. @throws {ConnectionError} */
  has(kind: Entry["kind"]): Promise<boolean>;
  /**
   * Returns true if a request with a lost answer can be sent again under its key, and is surely not billed twice.
   *
   * @throws {ConnectionError} where the proxy can't be asked now
   */
  remembers(entry: Entry): Promise<boolean>;
}

/** Creates the offers of a client's proxy. A client without keys has none, and asks nothing. */
export function createOffers(client: Client): Offers {
  let asked: Promise<readonly string[]> | undefined;
  return { has, remembers };

  async function has(kind: Entry["kind"]): Promise<boolean> {
    if (!client.idempotencyKeys) return false;
    asked ??= fetchOffers(client);
    // a proxy that can't be reached now is asked again
    asked.catch(() => {
      asked = undefined;
    });
    return (await asked).includes(kind === "chat" ? "chat-once" : "once");
  }

  async function remembers({ kind, record }: Entry): Promise<boolean> {
    const { key, sentAt } = record ?? {};
    if (key === undefined || sentAt === undefined) return false;
    return isRemembered(sentAt, kind === "chat" ? CHAT_MS : undefined) && has(kind);
  }
}
