import type { JobEvent } from "@sluice/worker-proxy";
import {
  type BoundHost,
  ensure,
  type JSONValue,
  type Operation,
  type Reading,
  readOption,
} from "@sluice/worker-proxy/plugin";
import type { Bucket } from "../../buckets/bucket.js";
import { createUserKey } from "../../host/user-key.js";
import { connectOnce } from "../../shared/connect-once.js";
import { createLinks, type Links } from "./links.js";
import { checkSecrets, type FileSettings } from "./options.js";
import { callStorage, refuseBucketFailure, refuseFile } from "./refusals.js";
import { endRemoval, type RemovedFile } from "./removal.js";
import { type FileRow, isVisible, readFile } from "./tables.js";

/** A file store. Its proxy connects it before the first request. */
export type Store<Env> = ReturnType<typeof createStore<Env>>;

export function createStore<Env>(settings: FileSettings<Env>) {
  const { connect, getServer } = connectOnce<Env>("fileStore");
  const store = {
    settings,
    get server() {
      return getServer();
    },
    connect,
    readBucket,
    readLinks,
    open,
  };
  return store;

  function readBucket(env: Env): Promise<Bucket> {
    return readOption("fileStore: bucket", settings.bucket, env, (bucket) => {
      ensure(bucket, "fileStore: bucket: its binding is missing");
      return bucket as Bucket;
    });
  }

  async function readLinks(env: Env): Promise<Links> {
    return createLinks(await readOption("fileStore: secret", settings.secret, env, checkSecrets));
  }

  /**
   * Opens the files of a user.
   *
   * @param host host of a job @default the host of the environment
   */
  async function open(env: Env, userId: string, host = store.server.host(env)): Promise<UserFiles> {
    const [bucket, links] = [await readBucket(env), await readLinks(env)];
    const report: Report = ({ id, bytes, isCopy, taskId }, event) => {
      const file = { id, userId, ...(bytes > 0 && { bytes }), ...(taskId && { taskId }) };
      store.server.report({ type: "job", job: isCopy ? "archive" : "upload", ...file, ...event }, env);
    };
    const log = (subject: string, cause: unknown) => void store.server.log(subject, cause, { env });
    return openUserFiles({ userId, settings, bucket, links, report, log }, host, await createUserKey(userId));
  }
}

interface Opened {
  readonly userId: string;
  readonly settings: FileSettings<never>;
  readonly bucket: Bucket;
  readonly links: Links;
  readonly report: Report;
  /** Logs a failure of the bucket. */
  readonly log: (subject: string, cause: unknown) => void;
}

/** Reports an event of a file. */
type Report = (
  file: Pick<FileRow, "id" | "bytes"> & Partial<Pick<FileRow, "isCopy" | "taskId">>,
  event: Pick<JobEvent, "outcome" | "code" | "attempts" | "nextAt">,
) => void;

/** The files of one user, for one request or job. */
export type UserFiles = ReturnType<typeof openUserFiles>;

/** A file that is marked for deletion, with its unfinished upload. */
type MarkedFile = RemovedFile & Pick<FileRow, "uploadId" | "claimedUntil">;

function openUserFiles(opened: Opened, host: BoundHost, key: string) {
  const { userId, bucket, links, report, log } = opened;
  return { ...opened, run, checkId, find, deleteFiles, remove };

  /** Runs an operation on the user's rows. @throws {Refusal} 503 if the database fails */
  async function run<Input extends JSONValue, Output>(
    operation: Operation<Input, Output> | Reading<Input, Output>,
    input: Input,
  ): Promise<Output> {
    return await callStorage(() => host.run(key, operation, input));
  }

  /** Returns an id of this user. @throws {Refusal} 404 for another id, before any database query */
  async function checkId(id = ""): Promise<string> {
    if (!(await links.isOwn(id, userId))) throw refuseFile("file_not_found");
    return id;
  }

  /** Finds a file. @throws {Refusal} 404 for a missing file, and for an id of another user */
  async function find(id: string | undefined): Promise<FileRow> {
    const row = await run(readFile, { id: await checkId(id) });
    return checkFound(row && isVisible(row) ? row : undefined);
  }

  /**
   * Deletes marked files from the bucket, and ends their rows. It can be repeated. Returns the bucket's error if the
   * bucket may still have some of the files: then the sweep tries again.
   *
   * A request with a claim may store its file after this deletion. Such a file keeps its space until the sweep has
   * deleted it after the end of the claim.
   */
  async function deleteFiles(files: readonly MarkedFile[]): Promise<unknown> {
    const failed = new Set<MarkedFile>();
    let cause: unknown;
    const addFailed = (files: readonly MarkedFile[]) => (error: unknown) => {
      for (const file of files) failed.add(file);
      cause = error;
    };
    // parts take space until their upload is aborted
    await Promise.all(files.map((file) => abortUpload(file).catch(addFailed([file]))));
    const keys = files.map(({ id }) => toBucketKey(id));
    if (keys.length > 0) await bucket.delete(keys).catch(addFailed(files));
    const unclaimed = files.filter(({ claimedUntil }) => claimedUntil === 0);
    const toRemoved = ({ id, claim }: MarkedFile): RemovedFile => ({ id, claim });
    const deleted = unclaimed.filter((file) => !failed.has(file)).map(toRemoved);
    const undeleted = unclaimed.filter((file) => failed.has(file)).map(toRemoved);
    const remaining = await run(endRemoval, { deleted, undeleted });
    if (remaining.length > 0)
      log(`fileStore: the bucket did not delete ${remaining.length} files; another attempt follows`, cause);
    for (const row of remaining)
      report(row, { outcome: "retrying", code: "not_deleted", attempts: row.removals, nextAt: row.dueAt });
    return cause;
  }

  async function abortUpload({ id, uploadId }: MarkedFile): Promise<void> {
    if (uploadId === null) return;
    try {
      await bucket.resumeMultipartUpload(toBucketKey(id), uploadId).abort();
    } catch (error) {
      if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
    }
  }

  /** Deletes a marked file. If the process ends before that, the sweep does it. @throws {Refusal} 503 if the bucket fails */
  async function remove(file: FileRow | undefined): Promise<void> {
    if (file?.state !== "removed") return;
    const cause = await deleteFiles([file]);
    if (cause !== undefined) throw refuseBucketFailure(cause);
  }
}

/** Returns a row. @throws {Refusal} 404 for a removed file */
export function checkFound(file: FileRow | undefined): FileRow {
  if (file?.state !== "open" && file?.state !== "whole") throw refuseFile("file_not_found");
  return file;
}

export function toBucketKey(id: string): string {
  return `media/${id}`;
}

/** R2's error code for a missing upload: it was aborted or completed before. */
const NO_SUCH_UPLOAD = "10024";
