import type { RecordStorage } from "../storage/storage.js";
import type { Client } from "../transport/send.js";
import { createVideoTaskLedger, type VideoTaskLedger } from "./entries.js";
import type { VideoTaskStoreOptions } from "./options.js";

const ledgers = new WeakMap<Client, Map<RecordStorage | undefined, VideoTaskLedger>>();

/** The ledger of a client's tasks in a storage: one for all who ask. */
export function videoTaskLedgerOf(
  client: Client,
  { storage, presence }: Pick<VideoTaskStoreOptions, "storage" | "presence">,
): VideoTaskLedger {
  const ofClient = ledgers.get(client) ?? new Map<RecordStorage | undefined, VideoTaskLedger>();
  ledgers.set(client, ofClient);
  const ledger = ofClient.get(storage) ?? createVideoTaskLedger(client, { storage, presence });
  ofClient.set(storage, ledger);
  return ledger;
}
