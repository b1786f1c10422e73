import { type Client, type ClientOptions, createClient, type RecordStorage } from "@sluice/core";
import { type ChatStore, createChatStore, signOut } from "@sluice/stores";
import { type RemoteStorage, remoteStorage, serverRunner } from "@sluice/sync";

/** A device of a signed-in user. */
export interface Device {
  readonly client: Client;
  readonly storage: RemoteStorage;
  /** Opens a conversation. The server runs its turns, so that the user can close the page. */
  openChat(id: string): ChatStore;
  /** Returns what to show about the sync. */
  describeSync(): string;
  /** Removes the user's data from this device. Returns the number of changes that were not sent. */
  leave(): Promise<number>;
}

/** Opens a device: a page, or a test with a `fetch` and a `local` storage. */
export function openDevice(
  user: string,
  {
    local,
    name,
    ...options
  }: Partial<ClientOptions> & { readonly local?: RecordStorage; readonly name?: string } = {},
): Device {
  const client = createClient({
    baseURL: "http://localhost:8787",
    headers: { authorization: user },
    user,
    ...options,
  });
  const storage = remoteStorage(client, { local, name });
  const runner = serverRunner({ device: name });
  return {
    client,
    storage,
    openChat: (id) => createChatStore(client, { id, model: "delta-5.3", storage, runner }),
    describeSync() {
      const { status, pending } = storage.status.getSnapshot();
      if (status === "error") return `${pending} wait for the server`;
      return status === "saving" ? `${pending} to send` : "in sync";
    },
    async leave() {
      const { unsent } = await signOut(client, { storages: [storage] });
      return unsent;
    },
  };
}
