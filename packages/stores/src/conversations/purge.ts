import type { Client, RecordStorage } from "@sluice/core";
import { reportStorageFailure } from "../base/platform-limits.js";
import type { ChatStore } from "../chat/chat-store.js";
import { createRecordWriter } from "../storage/record-writer.js";
import type { ConversationRecords } from "./records.js";

/** Dependencies of the deletion of conversations. */
interface PurgeContext {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly records: ConversationRecords;
  readonly getChat: (id: string) => ChatStore | undefined;
}

/** Deletes a removed conversation after `ms` milliseconds, unless it is restored or removed again before. */
export async function purgeLater(context: PurgeContext, id: string, ms: number): Promise<void> {
  const { client, records } = context;
  const removedAt = records.all.get(id)?.removedAt;
  const never = new AbortController().signal;
  await client.clock.sleep(Math.max(0, ms), never);
  if (removedAt !== undefined && records.all.get(id)?.removedAt === removedAt) await purge(context, id);
}

/**
 * Deletes a conversation with all stored messages. Deletes its record last, so that the next page load can finish an
 * interrupted deletion.
 */
async function purge({ client, storage, records, getChat }: PurgeContext, id: string): Promise<void> {
  const collection = `chat/${id}`;
  const onFailure = (error: unknown) => reportStorageFailure(client, error);
  getChat(id)?.reset();
  const messages = createRecordWriter({
    client,
    storage,
    collection,
    createRecord: () => undefined,
    onFailure,
  });
  try {
    for (const key of (await storage.read(collection)).keys()) messages.mark(key);
    await messages.write();
  } catch (error) {
    return onFailure(error);
  }
  if (messages.unsaved.size > 0 || records.all.get(id)?.removedAt === undefined) return;
  records.remove(id);
}
