import { copyFileSync, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findServer, hashText, reading } from "@sluice/worker-proxy/plugin";
import { onTestFinished, vi } from "vitest";
import type { Bucket, MultipartUpload } from "../../src/buckets/bucket.js";
import { openArchive } from "./file-archive.js";
import { createMemoryBucket } from "./memory-bucket.js";

type ArchiveSetup = NonNullable<Parameters<typeof openArchive>[0]>;

const { prepare } = DatabaseSync.prototype;

/** A call of the bucket that can fail. */
export type FaultyCall = "put" | "delete" | "abort" | "uploadPart" | "complete";

/** The rows of a user. */
const readRows = reading("tests/file-rows", async ({ key, query }) => {
  const [sums] = await query<{ bytes: number; copies: number }>(
    "SELECT bytes, copies FROM file_users WHERE key = ?",
    key,
  );
  const ids = await query<{ id: string }>("SELECT id FROM files WHERE key = ? AND bytes > 0", key);
  return { bytes: sums?.bytes ?? 0, waiting: sums?.copies ?? 0, ids: ids.map(({ id }) => id) };
});

/**
 * Opens an archive. Its process can end at each commit of its database, and before and after each call of its bucket and the
 * hosts of results. The next process starts with the database file of that moment.
 */
export async function openEndingArchive(setup: ArchiveSetup = {}) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const memory = createMemoryBucket();
  const faulty = new Set<FaultyCall>();
  let process = 0;
  let steps = 0;
  let endsAt = Number.POSITIVE_INFINITY;
  const getFile = () => join(folder, `${process}.db`);

  const spy = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    const statement = prepare.call(this, sql);
    if (sql !== "COMMIT") return statement;
    const all = statement.all.bind(statement);
    statement.all = () => {
      const rows = all();
      if (this.location() === getFile()) countStep();
      return rows;
    };
    return statement;
  });
  onTestFinished(() => spy.mockRestore());

  function countStep(): void {
    steps += 1;
    if (steps !== endsAt) return;
    endsAt = Number.POSITIVE_INFINITY;
    const endedFile = getFile();
    process += 1;
    for (const part of ["", "-wal"])
      if (existsSync(endedFile + part)) copyFileSync(endedFile + part, getFile() + part);
  }

  /** Makes a call of a process. The call never returns if the process ends during it. */
  async function call<T>(ownProcess: number, work: () => Promise<T>, name?: FaultyCall): Promise<T> {
    const live = async () => {
      if (ownProcess === process) countStep();
      if (ownProcess !== process) await new Promise(() => {});
    };
    await live();
    if (name && faulty.has(name)) throw new Error(`the bucket refused ${name}`);
    const result = await work();
    await live();
    return result;
  }

  function createBucket(ownProcess: number): Bucket {
    const { bucket } = memory;
    const openUpload = (upload: MultipartUpload): MultipartUpload => ({
      uploadId: upload.uploadId,
      uploadPart: (...part) => call(ownProcess, () => upload.uploadPart(...part), "uploadPart"),
      complete: (list) => call(ownProcess, () => upload.complete(list), "complete"),
      abort: () => call(ownProcess, () => upload.abort(), "abort"),
    });
    return {
      put: (...file) => call(ownProcess, () => bucket.put(...file), "put"),
      get: (...file) => bucket.get(...file),
      head: (...file) => bucket.head(...file),
      delete: (keys) => call(ownProcess, () => bucket.delete(keys), "delete"),
      createMultipartUpload: async (...file) =>
        openUpload(await call(ownProcess, () => bucket.createMultipartUpload(...file))),
      resumeMultipartUpload: (...file) => openUpload(bucket.resumeMultipartUpload(...file)),
    };
  }

  const archive = openArchive({ ...setup, file: getFile(), bucket: createBucket(process) });
  const fetchSource = globalThis.fetch;
  vi.stubGlobal("fetch", (...request: Parameters<typeof fetch>) =>
    call(process, () => fetchSource(...request)),
  );
  let store = archive.files;
  const stores = [store];

  /** Lets time pass until some work is done, or its process has ended. */
  async function drive<T>(work: Promise<T>, hasEnded = () => false): Promise<T | undefined> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    work.then(end, end);
    while (!isDone && !hasEnded()) {
      await vi.advanceTimersByTimeAsync(20);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return hasEnded() ? undefined : await work;
  }

  return {
    ...archive,
    drive,
    faulty,
    keys: memory.keys,
    countBytes: memory.countBytes,
    countUploads: memory.countUploads,
    /** Ends all processes. */
    close: () => drive(Promise.all(stores.map((opened) => opened.close()))),
    get store() {
      return store;
    },
    /** The events of all processes. */
    events: () => stores.flatMap((opened) => opened.jobEvents()),
    /** Does some work in a process that ends at step `count` of the work. Returns false if the work has fewer steps. */
    async endDuring(count: number, work: () => Promise<unknown>): Promise<boolean> {
      const ownProcess = process;
      steps = 0;
      endsAt = count;
      await drive(work(), () => ownProcess !== process);
      endsAt = Number.POSITIVE_INFINITY;
      if (ownProcess === process) return false;
      void store.close().catch(() => {});
      store = archive.open({ file: getFile(), bucket: createBucket(process) });
      stores.push(store);
      return true;
    },
    /** Reads the rows of a user. */
    async readRows(user: string) {
      return await findServer(store.proxy)
        .host({})
        .run(`user:${await hashText(user)}`, readRows, null);
    },
  };
}
