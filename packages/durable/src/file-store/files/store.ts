import type { BoundHost, JSONValue, Operation, Reading, User } from "@sluice/worker-proxy";
import { ensure, type PluginServer, readBinding, readOption } from "@sluice/worker-proxy/plugin";
import type { Bucket } from "../../buckets/bucket.js";
import { createUserKey } from "../../host/user-key.js";
import { createLinks, type Links } from "./links.js";
import { checkSecrets, type FileSettings } from "./options.js";
import { callStorage, refuseFile } from "./refusals.js";
import { endRemoval, removeFile } from "./removal.js";
import { type FileRow, TOTAL_KEY } from "./tables.js";
import { holdSpace, releaseSpace } from "./total.js";

/**
 * Time after its expiry for which a file holds space among all users, in milliseconds. Then its space is freed even if
 * the rows of its user can't report its deletion.
 */
const GRACE_MS = 86_400_000;

/** A file store. Its proxy connects it before the first request. */
export type Store<Env> = ReturnType<typeof createStore<Env>>;

/** Creates a store from options. */
export function createStore<Env>(settings: FileSettings<Env>) {
  let server: PluginServer<Env> | undefined;
  return {
    settings,
    get server() {
      return getServer();
    },
    connect(given: PluginServer<Env>) {
      ensure(!server, "fileStore: belongs to one proxy; make another one");
      server = given;
    },
    readBucket,
    readLinks,
    open,
  };

  function getServer(): PluginServer<Env> {
    ensure(server, "fileStore: give it to createProxy, plugins: [fileStore(…)]");
    return server;
  }

  function readBucket(env: Env): Promise<Bucket> {
    return readBinding("fileStore: bucket", settings.bucket, env);
  }

  async function readLinks(env: Env): Promise<Links> {
    return createLinks(await readOption("fileStore: secret", settings.secret, env, checkSecrets));
  }

  /**
   * Opens the files of a user.
   *
   * @param host host of a job @default the host of the environment
   */
  async function open(env: Env, userId: string, host = getServer().host(env)): Promise<UserFiles> {
    const [bucket, links] = [await readBucket(env), await readLinks(env)];
    return openUserFiles({ userId, settings, bucket, links }, host, await createUserKey(userId));
  }
}

interface Opened {
  readonly userId: string;
  readonly settings: FileSettings<never>;
  readonly bucket: Bucket;
  readonly links: Links;
}

/** The files of one user, for one request or job. */
export type UserFiles = ReturnType<typeof openUserFiles>;

function openUserFiles(opened: Opened, host: BoundHost, key: string) {
  const { userId, settings, bucket } = opened;
  const { maxBytesTotal, maxUploadBytes, retentionMs, archive } = settings;
  return { ...opened, run, hold, deleteAll, abandon, discard };

  /** Runs an operation on the user's rows. @throws {Refusal} 503 if the database fails */
  async function run<Input extends JSONValue, Output>(
    operation: Operation<Input, Output> | Reading<Input, Output>,
    input: Input,
  ): Promise<Output> {
    return await callStorage(() => host.run(key, operation, input));
  }

  /**
   * Reserves space among all users.
   *
   * @param bytes bytes in the bucket, plus the next part
   * @throws {Refusal} 503 if the space is full
   */
  async function hold(
    { id, bytes: wholeBytes, isCopy }: Pick<FileRow, "id" | "bytes" | "isCopy">,
    bytes: number,
  ): Promise<void> {
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

  /**
   * Deletes files from the bucket, and frees their space. Returns the rows of the files that the bucket did not delete,
   * and one of its errors.
   */
  async function deleteAll(files: readonly StoredName[]) {
    const { left, cause } = await deleteFromBucket(bucket, files);
    const gone = files.filter((file) => !left.includes(file)).map(({ id }) => id);
    const rows = await end(
      gone,
      left.map(({ id }) => id),
    );
    return { left: rows, cause, isWhole: left.length === 0 };
  }

  /** Frees the space of a file without bytes in the bucket. */
  async function abandon(id: string): Promise<void> {
    await run(removeFile, { id, userId, isForGood: false });
    await end([id], []);
  }

  /**
   * Deletes a file. If the process ends between two steps, the sweep does the rest.
   *
   * @param isForGood true if the owner deletes the file: a copy is then not made again. False if the request or attempt
   * that stores the file gives up
   * @throws {Refusal} 503 if the bucket fails
   */
  async function discard(id: string, isForGood = false): Promise<void> {
    const row = await run(removeFile, { id, userId, isForGood });
    const { left, cause } = await deleteFromBucket(bucket, [{ id, uploadId: row?.uploadId ?? null }]);
    if (left.length > 0)
      throw refuseFile("media_unavailable", { problem: "fileStore: the bucket failed", cause });
    await end([id], []);
  }

  /** Frees the space of deleted files, and ends their rows. */
  async function end(gone: readonly string[], left: readonly string[]): Promise<readonly FileRow[]> {
    // free the total space first: if the process ends here, the user's rows cause a repeat
    if (maxBytesTotal !== false && gone.length > 0)
      await callStorage(() => host.run(TOTAL_KEY, releaseSpace, { ids: gone }));
    return await run(endRemoval, { userId, gone, left });
  }
}

/** Returns a row. @throws {Refusal} 404 for a removed file */
export function checkFound(file: FileRow | undefined): FileRow {
  if (!file) throw refuseFile("file_not_found");
  return file;
}

/** Checks that an id belongs to a user, before any database query. @throws {Refusal} 404 for an id of another user */
export async function checkOwner(links: Links, id: string, { id: userId }: Pick<User, "id">): Promise<void> {
  if (!(await links.isOwn(id, userId))) throw refuseFile("file_not_found");
}

/** Returns the name of a file in the bucket. */
export function toBucketKey(id: string): string {
  return `media/${id}`;
}

/** A file or an unfinished upload in the bucket. */
export interface StoredName {
  readonly id: string;
  readonly uploadId: string | null;
}

/** R2's error code for a missing upload: it was aborted or completed before. */
const NO_SUCH_UPLOAD = "10024";

/**
 * Deletes files and unfinished uploads from the bucket. It can be repeated: a missing file is not an error. Returns the
 * files that the bucket may still have after a failure, and one of its errors.
 */
export async function deleteFromBucket(bucket: Bucket, files: readonly StoredName[]) {
  if (files.length === 0) return { left: files, cause: undefined };
  const left: StoredName[] = [];
  let cause: unknown;
  // parts take space until their upload is aborted
  const abort = (file: StoredName) =>
    abortUpload(bucket, file).catch((error: unknown) => {
      left.push(file);
      cause = error;
    });
  await Promise.all(files.map(abort));
  try {
    await bucket.delete(files.map(({ id }) => toBucketKey(id)));
    return { left, cause };
  } catch (error) {
    return { left: files, cause: error };
  }
}

async function abortUpload(bucket: Bucket, { id, uploadId }: StoredName): Promise<void> {
  if (uploadId === null) return;
  try {
    await bucket.resumeMultipartUpload(toBucketKey(id), uploadId).abort();
  } catch (error) {
    if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
  }
}
