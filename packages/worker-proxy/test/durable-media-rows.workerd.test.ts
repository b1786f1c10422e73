import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ObjectNamespace, ObjectState } from "@sluice/worker-proxy/durable";
import { type MediaBucket, mediaIndex } from "@sluice/worker-proxy/media";
import { afterEach, describe, expect, test, vi } from "vitest";
import { countedState } from "./support/rows.js";

const DAY_MS = 86_400_000;
const MOST = { mostBytes: 1e15, mostUploadBytes: 1e15, mostFiles: 1e9 };

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A bucket that keeps the names of its files. */
function openBucket() {
  const keys: string[] = [];
  const bucket: Pick<MediaBucket, "put" | "delete"> = {
    async put(key, content) {
      await new Response(content).arrayBuffer();
      keys.push(key);
    },
    async delete(gone) {
      for (const key of gone) if (keys.includes(key)) keys.splice(keys.indexOf(key), 1);
    },
  };
  return { keys, bucket: bucket as MediaBucket };
}

/** Runs with the index of a user, in an object of its own. The index of all users takes everything. */
async function withIndex<T>(name: string, run: (index: Awaited<ReturnType<typeof openIndex>>) => Promise<T>) {
  // any object of the platform's will do: its own class creates no table before it is asked
  const object = env.BUDGET.get(env.BUDGET.idFromName(`media ${name}`));
  return await runInDurableObject(object, (_, state) => run(openIndex(state as never)));
}

/** The alarm is the test's: the platform would call that of the object's own class. */
function withAlarm(state: ObjectState): ObjectState {
  let alarmAt: number | null = null;
  const storage = new Proxy(state.storage, {
    get(target, name) {
      if (name === "setAlarm")
        return async (at: number) => {
          alarmAt = at;
        };
      if (name === "getAlarm") return async () => alarmAt;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return {
    storage,
    blockConcurrencyWhile: (work) => state.blockConcurrencyWhile(work),
    waitUntil: (work) => state.waitUntil(work),
  };
}

function openIndex(given: ObjectState) {
  const { state, rows } = countedState(withAlarm(given));
  const { bucket, keys } = openBucket();
  const asked: object[] = [];
  const namespace = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        if (name !== "all") return await index.fetch(request);
        asked.push(await request.json());
        return Response.json({ file: {} });
      },
    }),
  } as unknown as ObjectNamespace;
  const Index = mediaIndex<object>({
    bucket: () => bucket,
    index: () => namespace,
    secret: () => "a secret for links, of 32 letters and more",
    userFiles: 1_000_000,
    userBytes: 1e12,
    archive: { hosts: ["cdn.example"] },
  });
  const index = new Index(state, {}) as Required<InstanceType<typeof Index>>;
  const ask = async (body: object) => {
    const request = new Request("https://media.invalid/", { method: "POST", body: JSON.stringify(body) });
    return (await (await index.fetch(request)).json()) as {
      file?: { id: string; received: number; isWhole: number; expiresAt: number };
      files?: { id: string }[];
      full?: string;
    };
  };
  return {
    ask,
    keys,
    asked,
    rows,
    sql: state.storage.sql,
    alarm: () => index.alarm(),
    open: (id: string, more: object = {}) =>
      ask({
        do: "open",
        file: { id, bytes: 10, type: "image/png", expiresAt: Date.now() + DAY_MS },
        isCopy: false,
        ...MOST,
        ...more,
      }),
    /** The rows that are used meanwhile. */
    async usedBy(act: () => Promise<unknown>) {
      const before = { ...rows };
      await act();
      return { read: rows.read - before.read, written: rows.written - before.written };
    },
  };
}

const job = (name: string) => ({
  source: `source ${name}`,
  id: name,
  userId: "user-1",
  url: "https://cdn.example/film.png",
});

describe("case 110: the work for a file does not grow with the files that are stored", () => {
  test.each([0, 1000, 100_000])("it reads a few rows beside %i files", async (stored) => {
    const png = new Uint8Array(1000);
    png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      return new Response(png, { headers: { "content-length": "1000" } });
    });
    const used = await withIndex(`rows ${stored}`, async ({ ask, alarm, open, usedBy, sql, keys }) => {
      await open("first");
      await ask({ do: "copy", jobs: [] });
      const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
      sql.exec(
        `${numbers} INSERT INTO files (id, bytes, type, expiresAt, isWhole, parts, source, isCount, isCopy)
          SELECT 'f' || i, 10, 'image/png', ?2 + i, 1, '[]', 's' || i, 0, 1 FROM n WHERE ?1 > 0`,
        stored,
        Date.now() + DAY_MS,
      );
      sql.exec(
        `${numbers} INSERT INTO copies SELECT 's' || i, 'f' || i, '', '', 1, ?2 + i, i % 2, 0, NULL FROM n WHERE ?1 > 0`,
        stored,
        Date.now() + DAY_MS,
      );
      const upload = await usedBy(async () => {
        await open("new");
        await ask({ do: "whole", id: "new" });
        await open("counted", { isCount: true });
      });
      const deletion = await usedBy(async () => {
        await ask({ do: "drop", id: "new", isForGood: true });
        await ask({ do: "forget", ids: ["counted"] });
      });
      const copy = await usedBy(async () => {
        await ask({ do: "copy", jobs: [job("copied")] });
        await alarm();
        await open("counted copy", { isCount: true });
      });
      expect(keys).toEqual(["media/copied"]);
      return { upload, deletion, copy };
    });
    // the figures of the guides
    expect([used.upload, used.deletion]).toEqual([
      { read: 13, written: 12 },
      { read: 5, written: 4 },
    ]);
    expect(used.copy.read).toBeLessThanOrEqual(32);
    expect(used.copy.written).toBe(26);
  });

  test("thousands of files whose time is over are deleted in steps, and count until then", async () => {
    const ends = await withIndex("steps", async ({ ask, alarm, open, sql, asked }) => {
      await open("first");
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
          INSERT INTO files (id, bytes, type, expiresAt, isWhole, parts, isCount)
          SELECT 'f' || i, 10, 'image/png', 1000 + i, 1, '[]', 0 FROM n`,
      );
      const most = { ...MOST, mostFiles: 600 };
      const answers: (string | undefined)[] = [];
      for (let step = 0; step < 3; step += 1) {
        answers.push((await open(`next-${step}`, most)).full);
        await alarm();
      }
      const { file } = await ask({ do: "read", id: "f1200" });
      return { answers, file, batches: asked.map((one) => (one as { ids: string[] }).ids.length) };
    });
    expect(ends).toEqual({ answers: ["files", "files", undefined], batches: [500, 500, 200] });
  });
});

/** Tables and rows as the version before running sums wrote them. */
const OLDER = [
  `CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, bytes INTEGER, type TEXT, expiresAt INTEGER,
      received INTEGER, isWhole INTEGER, claimed INTEGER, uploadId TEXT, parts TEXT, source TEXT UNIQUE, isCount INTEGER)`,
  `CREATE TABLE IF NOT EXISTS copies (source TEXT PRIMARY KEY, id TEXT, userId TEXT, url TEXT,
      attempts INTEGER, nextAt INTEGER, isOver INTEGER, isPaid INTEGER)`,
];

test("case 110: files and copies of an earlier version stay, and count", async () => {
  await withIndex("older", async ({ ask, open, sql, alarm, keys }) => {
    const png = new Uint8Array(1000);
    png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      return new Response(png, { headers: { "content-length": "1000" } });
    });
    for (const statement of OLDER) sql.exec(statement);
    const later = Date.now() + DAY_MS;
    const insert = "INSERT INTO files VALUES (?, ?, 'image/png', ?, ?, ?, 1, ?, '[]', ?, 0)";
    sql.exec(insert, "whole", 600, later, 600, 1, null, null);
    sql.exec(insert, "begun", 300, later, 100, 0, "upload", null);
    sql.exec(insert, "copy", 50, later, 50, 1, null, "source copy");
    sql.exec(
      "INSERT INTO copies VALUES ('source due', 'due', 'user-1', 'https://cdn.example/a', 0, 0, 0, 0)",
    );
    const found = await ask({ do: "find", ids: ["whole"], sources: ["source copy"] });
    expect(found.files?.map(({ id }) => id)).toEqual(["whole", "copy"]);
    expect((await ask({ do: "read", id: "begun" })).file?.received).toBe(100);
    expect((await open("too large", { mostBytes: 959 })).full).toBe("bytes");
    expect((await open("upload", { mostUploadBytes: 909 })).full).toBe("bytes");
    expect((await open("fits", { mostBytes: 960, mostUploadBytes: 910, mostFiles: 4 })).file?.id).toBe(
      "fits",
    );
    await alarm();
    expect(keys).toEqual(["media/due"]);
  });
});
