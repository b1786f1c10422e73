import type { RecordStorage } from "@sluice/core";
import { storageTests } from "@sluice/stores/testing";
import { describe, test } from "vitest";
import { createDevice } from "./support/device.js";
import { createSyncServer } from "./support/sync-server.js";

/** Opens tabs of one browser, whose collections are chats. */
function openTabs(session: string | undefined) {
  const device = createDevice(createSyncServer());
  device.session = session;
  return (): RecordStorage => {
    const { storage } = device.openTab(null);
    const toName = (collection: string) => `chat/${collection}`;
    return {
      read: (collection) => storage.read(toName(collection)),
      write: (collection, changes) => storage.write(toName(collection), changes),
      subscribe: (collection, ...more) => storage.subscribe(toName(collection), ...more),
    };
  };
}

/** Cases that do not hold here: null removes a record, and the server restricts ids. */
const exceptions = [
  "reads each value as its JSON",
  "accepts any text as a key and as a collection",
  "reports writes and removals of other instances, only in its collection",
].map((title) => `The storage ${title}`);

describe.each([
  ["online", "ada"],
  ["signed out", undefined],
])("A remote storage, %s", (_, session) => {
  for (const { title, run } of storageTests({ create: openTabs(session) }))
    if (!exceptions.includes(title)) test(title, run);
});
