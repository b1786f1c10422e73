import { type Client, createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { type RemoteStorage, remoteStorage } from "@sluice/sync";
import { afterEach } from "vitest";
import { settled, stoppedClock } from "../../../../../packages/core/test/support/gateway.js";
// loads the code that a page loads later, so that no test waits for a file
import "../../../src/client/sync.js";
import type { createSyncServer } from "./sync-server.js";

type Server = ReturnType<typeof createSyncServer>;

let devices = 0;
const opened: RemoteStorage[] = [];

// releases the Web Locks, so that no test waits for an earlier one
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.clear?.("");
});

/** A browser with one session, whose tabs share a local storage. */
export function createDevice(server: Server, signedIn: string | undefined = "ada") {
  devices += 1;
  const name = `device-${devices}`;
  const local = memoryStorage();
  const clock = stoppedClock();
  const readSession = (): string | undefined => device.session;
  const device = {
    /** User of the session's cookie; undefined after the user has signed out. */
    session: signedIn as string | undefined,
    local,
    clock,
    /** Opens a tab of a user's page. */
    openTab(user: string | null = "ada") {
      const client: Client = createClient({
        baseURL: "https://proxy.example",
        onEvent: () => {},
        clock,
        // no jitter
        random: () => 1,
        ...(user !== null && { user }),
        fetch: server.connect(readSession),
      });
      const storage = remoteStorage(client, { local, name });
      opened.push(storage);
      const prefix = user === null ? "" : `${JSON.stringify(user)}/`;
      return {
        client,
        storage,
        read: (collection: string) => storage.read(prefix + collection),
        write: (collection: string, records: Record<string, unknown>) =>
          storage.write(prefix + collection, new Map(Object.entries(records))),
        /** Opens a collection as a chat does. Returns the records that it shows. */
        async show(collection: string) {
          const shown = new Map<string, unknown>();
          storage.subscribe(prefix + collection, (changes) => {
            for (const [key, value] of changes)
              if (value === undefined) shown.delete(key);
              else shown.set(key, value);
          });
          for (const [key, value] of await storage.read(prefix + collection)) shown.set(key, value);
          return shown;
        },
      };
    },
  };
  return device;
}

/** Waits until promises that depend on no clock have settled. 20 turns of the event loop are more than any test needs. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settled();
}

/** Creates the record of a message, as a chat stores it. `more` has further fields of the message. */
export const message = (content: string, parent: string | null = null, more: object = {}, revision = 0) => ({
  message: { id: content, role: "user", content, createdAt: 1, ...more },
  parent,
  revision,
});
