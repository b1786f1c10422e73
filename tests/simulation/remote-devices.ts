import type { Client, RecordStorage } from "@sluice/core";
import { remoteStorage } from "@sluice/sync";
import type { createChannels } from "./channels.js";
import { createDisk } from "./disk.js";
import type { Exchange, NetworkFault } from "./network.js";
import type { Page } from "./page.js";
import { BEGINNING } from "./platform.js";
import type { createProxyServer } from "./proxy.js";
import type { Random } from "./random.js";
import type { Device, KeptChat, Versioned } from "./shared-server.js";
import type { Timeline } from "./timeline.js";
import type { KeptEvent } from "./withdrawals.js";

/*
 * Devices as they are: `remoteStorage` over a disk of each device, and the objects of `conversations()` behind the proxy.
 * All that is between them goes over the network of the simulation, and its faults.
 */

/** Part of a URL that identifies a request of the storage. */
const PATH = "/v1/conversations/";
/** Collections of a device: the chat, and its unsent records. */
const CHAT = "chat/a";
const OUTBOX = "remote/outbox";

/** Creates a device whose pages have a `remoteStorage`. */
export function createRemoteDevice(
  id: string,
  timeline: Timeline,
  random: Random,
  channels: ReturnType<typeof createChannels>,
  log: (detail: string) => void,
): Device {
  const disk = createDisk(timeline, random, (detail) => log(`${id}: ${detail}`));
  const pages = new Set<Page>();
  const device: Device = {
    id,
    get local() {
      return disk.textsOf(CHAT);
    },
    get dirty() {
      return new Set(disk.textsOf(OUTBOX).keys());
    },
    pages,
    isOnline: true,
    answersLost: 0,
    isSlow: false,
    goOnline() {
      device.isOnline = true;
    },
    createStorage(page: Page, client: Client): RecordStorage {
      pages.add(page);
      return remoteStorage(client, { local: disk.createStorage(page) });
    },
    watchersOf: (page) => channels.countOf(page) + disk.watchersOf(page, CHAT),
  };
  return device;
}

/** Returns the fault of a request of the storage, where its device has one. */
export function getStorageFault(device: Device | undefined, path: string): NetworkFault | undefined {
  if (!device || !path.startsWith(PATH)) return undefined;
  if (device.answersLost > 0) {
    device.answersLost -= 1;
    return "reset";
  }
  return device.isSlow ? "slow" : undefined;
}

/** True for a request of the storage. */
export function isOfStorage({ path }: { readonly path: string }): boolean {
  return path.startsWith(PATH);
}

/** Reads the records of the chat's object. */
export function readStoredByObjects(
  { objects }: ReturnType<typeof createProxyServer>,
  timeline: Timeline,
  exchanges: readonly Exchange[],
  idOf: (page: Page) => string,
): KeptChat {
  const readRows = (table: string, query: string) =>
    objects
      .storagesOf("CONVERSATIONS")
      .filter(({ storage }) => storage.hasTable(table) && isChat(storage.rowsOf))
      .flatMap(({ storage }) => storage.rowsOf(query));
  return {
    get records() {
      const records = readRows("records", "SELECT key, version, value FROM records");
      const removed = readRows("removed", "SELECT key, version FROM removed");
      return new Map(
        [...removed, ...records].map(({ key, version, value }): [string, Versioned] => [
          String(key),
          { version: Number(version), text: value === undefined ? undefined : String(value) },
        ]),
      );
    },
    leasesOf: () =>
      readRows("leases", "SELECT endsAt FROM leases").filter(
        ({ endsAt }) => Number(endsAt) > BEGINNING + timeline.now(),
      ).length,
    events: () =>
      exchanges
        .filter(({ to, isAnswered }) => to === "" && isAnswered)
        .flatMap((each) => listEvents(each, idOf)),
  };
}

/** Reads what a request has made the server do. */
function listEvents(
  { page, path, method, body, at, endedAt, status, received }: Exchange,
  idOf: (page: Page) => string,
): readonly KeptEvent[] {
  if (!body || endedAt === undefined) return [];
  const device = idOf(page);
  if (path.endsWith("/leases")) {
    const { name: key } = JSON.parse(body);
    if (method === "DELETE") return [{ at: endedAt, device, did: "give back", key }];
    return received.includes('"isHeld":true') ? [{ at, device, did: "lease", key }] : [];
  }
  if (!path.endsWith("/records") || (status ?? 200) !== 200) return [];
  const { changes, release = [] } = JSON.parse(body);
  const written = Object.entries<{ value?: unknown }>(changes).map(([key, { value }]): KeptEvent => {
    return { at: endedAt, device, did: "write", key, record: value ?? undefined };
  });
  // after an interrupted response it is unknown which records were accepted
  const isAll = received.endsWith("}") && Object.keys(JSON.parse(received).taken).length === written.length;
  const freed = isAll ? (release as string[]) : [];
  return [...written, ...freed.map((key): KeptEvent => ({ at: endedAt, device, did: "give back", key }))];
}

function isChat(rowsOf: (query: string) => Record<string, unknown>[]): boolean {
  return rowsOf("SELECT conversation FROM state").some(({ conversation }) => conversation === "a");
}
