import { hashOf } from "@sluice/worker-proxy/internal";
import {
  type DurableObjectHandlers,
  type ObjectNamespace,
  type ObjectState,
  objectNamed,
} from "../../objects/object.js";
import { createTables, type TableSteps } from "../../objects/tables.js";

/*
 * Each address of a browser has an object that knows whose it is: the user who subscribed there last. It is asked before
 * each push, so that no order of requests, retries and crashes sends a notice to the next user of a browser.
 */

/** `owner` is the name of the object of a user's subscriptions. */
type OwnerRequest =
  | { readonly do: "claim"; readonly owner: string; readonly until: number }
  | { readonly do: "release"; readonly owner: string }
  | { readonly do: "read" };

const OWNER = "https://endpoint-owner.invalid/";
/** A claim that is renewed within a day is not written again. */
const DAY_MS = 86_400_000;

const TABLES: TableSteps = {
  first: "owner",
  isShared: true,
  steps: [["CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT, until INTEGER)"]],
};

/** Asks the object of a browser's address, found by the id of the subscription. Returns the owner after that. */
export async function askOwner(
  namespace: ObjectNamespace,
  id: string,
  request: OwnerRequest,
): Promise<string | undefined> {
  const object = objectNamed(namespace, await hashOf(`endpoint\n${id}`));
  const answer = await object.fetch(new Request(OWNER, { method: "POST", body: JSON.stringify(request) }));
  if (!answer.ok) throw new Error(`the owner of an endpoint answered with ${answer.status}`);
  return ((await answer.json()) as string | null) ?? undefined;
}

/** Lets objects of a class know the owner of an address. Requests to these have another host. */
export function withOwner(object: DurableObjectHandlers, { storage }: ObjectState): DurableObjectHandlers {
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, TABLES);
  let isOwner: boolean | undefined;
  return {
    async fetch(request) {
      if (request.url !== OWNER) return object.fetch(request);
      return Response.json((await enter(await request.json())) ?? null);
    },
    async alarm() {
      isOwner ??= tables.exist();
      if (!isOwner) return object.alarm();
      const until = read()?.until ?? 0;
      if (Date.now() < until) return storage.setAlarm(until);
      isOwner = undefined;
      await tables.deleteAll();
    },
  };

  async function enter(request: OwnerRequest): Promise<string | undefined> {
    const known = read();
    if (request.do === "release" && known?.name === request.owner) {
      await storage.deleteAlarm();
      await tables.deleteAll();
      return undefined;
    }
    if (request.do !== "claim") return known?.name;
    const { owner, until } = request;
    if (known?.name === owner && until - known.until < DAY_MS) return owner;
    tables.create();
    isOwner = true;
    sql.exec("INSERT OR REPLACE INTO owner VALUES (1, ?, ?)", owner, until);
    await storage.setAlarm(until);
    return owner;
  }

  function read(): { readonly name: string; readonly until: number } | undefined {
    if (!tables.exist()) return undefined;
    const [row] = sql.exec("SELECT name, until FROM owner").toArray();
    return row as { readonly name: string; readonly until: number } | undefined;
  }
}
