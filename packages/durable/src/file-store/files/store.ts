import type { BoundHost, JSONValue, Operation, Reading, User } from "@sluice/worker-proxy";
import { ensure, type PluginServer, readBinding, readOption } from "@sluice/worker-proxy/plugin";
import type { Bucket } from "../../buckets/bucket.js";
import { createUserKey } from "../../host/user-key.js";
import { deleteFromBucket, type StoredName } from "./bucket-files.js";
import { createLinks, type Links } from "./links.js";
import { checkSecrets, type FileSettings, STORES_MS } from "./options.js";
import { callStorage, refuseFile } from "./refusals.js";
import { addRemoved, endRemoval, removeFile } from "./removal.js";
import { type FileRow, TOTAL_KEY } from "./tables.js";
import { holdSpace, releaseSpace } from "./total.js";

/** Time after its end for which a file holds space among all users, where its user's rows can't say that it is gone. */
const GRACE_MS = 86_400_000;

/** The files of one user, for one request or job. */
export interface UserFiles {
  readonly userId: string;
  readonly settings: FileSettings<never>;
  readonly bucket: Bucket;
  readonly links: Links;
  /** Runs an operation on the user's rows. @throws {Refusal} 503 where the database fails */
  run<Input extends JSONValue, Output>(
    operation: Operation<Input, Output> | Reading<Input, Output>,
    input: Input,
  ): Promise<Output>;
  /**
   * Reserves space among all users.
   *
   * @param bytes those in the bucket, and the part that is about to be stored
   * @throws {Refusal} 503 where there is none
   */
  hold(file: Pick<FileRow, "id" | "bytes" | "isCopy">, bytes: number): Promise<void>;
  /** Deletes files from the bucket, and gives their space back. Returns the rows of those that the bucket did not delete. */
  deleteAll<File extends StoredName>(files: readonly File[]): Promise<Deletion>;
  /** Gives the space of a file back of which the bucket has nothing. */
  abandon(id: string): Promise<void>;
  /**
   * Deletes a file. Where this is lost between two steps, the sweep does the rest.
   *
   * @param isForGood true where the owner deletes it: a copy is not made again. False where the request or the attempt that
   *   stores it gives it up
   * @throws {Refusal} 503 where the bucket fails
   */
  discard(id: string, isForGood?: boolean): Promise<void>;
}

/** The end of a deletion. */
interface Deletion {
  readonly left: readonly FileRow[];
  readonly cause?: unknown;
  readonly isWhole: boolean;
}

/** A file store, which its proxy connects before the first request. */
export interface Store<Env> {
  readonly settings: FileSettings<Env>;
  readonly server: PluginServer<Env>;
  connect(server: PluginServer<Env>): void;
  readLinks(env: Env): Promise<Links>;
  readBucket(env: Env): Promise<Bucket>;
  /** Opens the files of a user. @param host the host of a job. @default the host of the environment */
  open(env: Env, userId: string, host?: BoundHost): Promise<UserFiles>;
}

/** Makes a store of options. */
export function createStore<Env>(settings: FileSettings<Env>): Store<Env> {
  let server: PluginServer<Env> | undefined;
  const store: Store<Env> = {
    settings,
    get server() {
      ensure(server, "fileStore: give it to createProxy, plugins: [fileStore(…)]");
      return server;
    },
    connect(given) {
      ensure(!server, "fileStore: belongs to one proxy; make another one");
      server = given;
    },
    readBucket: (env) => readBinding("fileStore: bucket", settings.bucket, env),
    readLinks: async (env) =>
      createLinks(await readOption("fileStore: secret", settings.secret, env, checkSecrets)),
    async open(env, userId, host = store.server.host(env)) {
      const bucket = await store.readBucket(env);
      const links = await store.readLinks(env);
      const key = await createUserKey(userId);
      const run: UserFiles["run"] = (operation, input) => callStorage(() => host.run(key, operation, input));
      const user = { userId, settings, bucket, links, run };
      return { ...user, ...openSpace(host, user) };
    },
  };
  return store;
}

type Space = Pick<UserFiles, "hold" | "deleteAll" | "abandon" | "discard">;

function openSpace(host: BoundHost, { userId, settings, bucket, run }: Omit<UserFiles, keyof Space>): Space {
  const { maxBytesTotal, maxUploadBytes, retentionMs, archive } = settings;
  return { hold, deleteAll, abandon, discard };

  async function hold({ id, bytes: wholeBytes, isCopy }: Parameters<Space["hold"]>[0], bytes: number) {
    if (maxBytesTotal === false) return;
    const storedMs = isCopy ? (archive?.retentionMs ?? retentionMs) : retentionMs;
    const isHeld = await callStorage(() =>
      host.run(TOTAL_KEY, holdSpace, {
        ...{ id, bytes, wholeBytes, isCopy: isCopy === 1, maxUploadBytes, maxBytes: maxBytesTotal },
        endsInMs: storedMs + GRACE_MS,
      }),
    );
    if (isHeld) return;
    const problem = `fileStore: maxBytesTotal is used up${isCopy ? "" : ", or the part that uploads may take"}`;
    throw refuseFile("storage_full_for_all", { headers: { "retry-after": "3600" }, problem });
  }

  async function deleteAll<File extends StoredName>(files: readonly File[]): Promise<Deletion> {
    const { left, cause } = await deleteFromBucket(bucket, files);
    const gone = files.filter((file) => !left.has(file)).map(({ id }) => id);
    const ids = [...left].map(({ id }) => id);
    return { left: await end(gone, ids), cause, isWhole: left.size === 0 };
  }

  async function abandon(id: string): Promise<void> {
    await run(removeFile, { id, userId, isForGood: false });
    await end([id], []);
  }

  async function discard(id: string, isForGood = false): Promise<void> {
    const row = await run(removeFile, { id, userId, isForGood });
    const uploadId = row?.uploadId ?? null;
    const { left, cause } = await deleteFromBucket(bucket, [{ id, uploadId }]);
    if (left.size === 0) return void (await end([id], []));
    // a row has the sweep delete it
    if (!row) await run(addRemoved, { id, userId, uploadId });
    throw refuseFile("media_unavailable", { problem: "fileStore: the bucket failed", cause });
  }

  /** Gives the space of deleted files back, and ends their rows. */
  async function end(gone: readonly string[], left: readonly string[]): Promise<readonly FileRow[]> {
    // first: the rows of the user have it done again where this is lost
    if (maxBytesTotal !== false && gone.length > 0)
      await callStorage(() => host.run(TOTAL_KEY, releaseSpace, { ids: gone }));
    return await run(endRemoval, { userId, gone, left, storesMs: STORES_MS });
  }
}

/** Returns a row. @throws {Refusal} 404 for a file that was removed */
export function checkFound(file: FileRow | undefined): FileRow {
  if (!file) throw refuseFile("file_not_found");
  return file;
}

/** Tells whether an id was made for a user. Checked before the database is asked. @throws {Refusal} 404 */
export async function checkOwner(links: Links, id: string, { id: userId }: Pick<User, "id">): Promise<void> {
  if (!(await links.isOwn(id, userId))) throw refuseFile("file_not_found");
}
