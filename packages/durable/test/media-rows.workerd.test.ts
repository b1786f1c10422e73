import { afterEach, describe, expect, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { job, MOST, withIndex } from "./support/index-object.js";
import { workerdTest } from "./support/platform.js";

expectLog("the bucket did not delete");

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("case 110: the work for a file does not grow with the files that are stored", () => {
  workerdTest.each([0, 20_000])("it reads a few rows beside %i files", async (stored) => {
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
        `${numbers} INSERT INTO copies (source, id, userId, url, attempts, nextAt, isOver, isPaid, taskId)
          SELECT 's' || i, 'f' || i, '', '', 1, ?2 + i, i % 2, 0, NULL FROM n WHERE ?1 > 0`,
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
        await ask({ do: "gone", id: "new" });
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
      { read: 7, written: 8 },
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

/** Tables as the version before users could be erased left them: the sums are kept by triggers. */
const THIRD = [
  `CREATE TABLE files (id TEXT PRIMARY KEY, bytes INTEGER, type TEXT, expiresAt INTEGER, received INTEGER,
      isWhole INTEGER, claimed INTEGER, uploadId TEXT, parts TEXT, source TEXT UNIQUE, isCount INTEGER,
      isCopy INTEGER NOT NULL DEFAULT 0, claimedUntil INTEGER NOT NULL DEFAULT 0)`,
  `CREATE TABLE copies (source TEXT PRIMARY KEY, id TEXT, userId TEXT, url TEXT, attempts INTEGER, nextAt INTEGER,
      isOver INTEGER, isPaid INTEGER, taskId TEXT)`,
  "CREATE INDEX files_by_end ON files (isCount, expiresAt)",
  "CREATE INDEX copies_by_time ON copies (isOver, nextAt)",
  "CREATE INDEX copies_by_id ON copies (id)",
  `CREATE TABLE sums (id INTEGER PRIMARY KEY CHECK (id = 1), files INTEGER, bytes INTEGER, uploadBytes INTEGER,
      jobs INTEGER)`,
  "INSERT INTO sums VALUES (1, 0, 0, 0, 0)",
  `CREATE TRIGGER file_added AFTER INSERT ON files BEGIN UPDATE sums SET files = files + 1,
      bytes = bytes + NEW.bytes, uploadBytes = uploadBytes + iif(NEW.isCopy, 0, NEW.bytes); END`,
  `CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN UPDATE sums SET files = files - 1,
      bytes = bytes - OLD.bytes, uploadBytes = uploadBytes - iif(OLD.isCopy, 0, OLD.bytes); END`,
  `CREATE TRIGGER job_added AFTER INSERT ON copies WHEN NEW.isOver = 0
      BEGIN UPDATE sums SET jobs = jobs + 1; END`,
  `CREATE TRIGGER job_ended AFTER UPDATE OF isOver ON copies WHEN OLD.isOver = 0 AND NEW.isOver = 1
      BEGIN UPDATE sums SET jobs = jobs - 1; END`,
  "CREATE TABLE version (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER)",
  "INSERT INTO version VALUES (1, 3)",
];

test("case 123: files and copies of the version before are listed, count, and can be erased", async () => {
  await withIndex("third", async ({ ask, open, sql, keys, bucket }) => {
    for (const statement of THIRD) sql.exec(statement);
    const later = Date.now() + DAY_MS;
    const insert = `INSERT INTO files (id, bytes, type, expiresAt, received, isWhole, claimed, uploadId, parts, source,
      isCount, isCopy) VALUES (?, ?, 'image/png', ?, ?, ?, 1, NULL, '[]', ?, 0, ?)`;
    sql.exec(insert, "whole", 600, later, 600, 1, null, 0);
    sql.exec(insert, "gone", 0, later, 0, 0, null, 0);
    sql.exec(insert, "copy", 50, later, 50, 1, "source copy", 1);
    sql.exec("INSERT INTO copies VALUES ('source copy', 'copy', '', '', 1, ?, 1, 1, 'task-1')", later);
    sql.exec(
      "INSERT INTO copies VALUES ('source due', 'due', 'u', 'https://cdn.example/a', 0, ?, 0, 0, 't')",
      later,
    );
    keys.push("media/whole", "media/copy");
    const { files } = await ask({ do: "list", of: "files", after: "" });
    expect(files).toMatchObject([{ id: "copy", taskId: "task-1" }, { id: "whole" }]);
    expect((await open("third", { mostFiles: 2 })).full).toBe("files");
    expect((await open("third", { mostFiles: 3 })).file?.id).toBe("third");
    bucket.isAway = true;
    await expect(ask({ do: "erase" })).rejects.toThrow("away");
    bucket.isAway = false;
    expect(await ask({ do: "erase" })).toEqual({ isMore: false });
    expect(keys).toEqual([]);
    expect(sql.exec("SELECT files, bytes, uploadBytes, jobs FROM sums").toArray()).toEqual([
      { files: 0, bytes: 0, uploadBytes: 0, jobs: 0 },
    ]);
  });
});

/** Tables as the version before marks of deletion left them: a file that was deleted had a row without bytes. */
const FOURTH = [
  ...THIRD.filter((statement) => !/TRIGGER file|INSERT INTO version/.test(statement)),
  "ALTER TABLE files ADD COLUMN userId TEXT",
  "ALTER TABLE copies ADD COLUMN notedAt INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE sums ADD COLUMN erasedAt INTEGER NOT NULL DEFAULT 0",
  `CREATE TRIGGER file_added AFTER INSERT ON files BEGIN UPDATE sums SET files = files + (NEW.bytes > 0),
      bytes = bytes + NEW.bytes, uploadBytes = uploadBytes + iif(NEW.isCopy, 0, NEW.bytes); END`,
  `CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN UPDATE sums SET files = files - (OLD.bytes > 0),
      bytes = bytes - OLD.bytes, uploadBytes = uploadBytes - iif(OLD.isCopy, 0, OLD.bytes); END`,
  "INSERT INTO version VALUES (1, 4)",
];

test("case 154: files of the version before stay, and those that it was to delete are deleted", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
  await withIndex("fourth", async ({ ask, sql, keys, alarm, bucket, events }) => {
    for (const statement of FOURTH) sql.exec(statement);
    const insert = `INSERT INTO files (id, bytes, type, expiresAt, received, isWhole, claimed, uploadId, parts, isCount)
      VALUES (?, ?, 'image/png', ?, ?, 1, 1, NULL, '[]', 0)`;
    sql.exec(insert, "whole", 600, Date.now() + DAY_MS, 600);
    sql.exec(insert, "gone", 0, Date.now(), 0);
    keys.push("media/whole", "media/gone");
    bucket.isAway = true;
    await alarm();
    bucket.isAway = false;
    expect(events).toMatchObject([{ id: "gone", outcome: "waiting", code: "not_deleted", attempts: 1 }]);
    expect((await ask({ do: "list", of: "files", after: "" })).files).toMatchObject([{ id: "whole" }]);
    vi.setSystemTime(Date.now() + 10 * MINUTE_MS);
    await alarm();
    expect(keys).toEqual(["media/whole"]);
    expect(sql.exec("SELECT files, bytes FROM sums").toArray()).toEqual([{ files: 1, bytes: 600 }]);
  });
});

describe("case 123: the work for a page of files, and for a step of an erasure", () => {
  workerdTest.each([0, 20_000])("does not grow with the files that are stored: %i", async (stored) => {
    const used = await withIndex(`pages ${stored}`, async ({ ask, open, usedBy, sql }) => {
      await open("first");
      const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
      sql.exec(
        `${numbers} INSERT INTO files (id, bytes, type, expiresAt, isWhole, parts, source, isCount, isCopy)
          SELECT 'f' || i, 10, 'image/png', ?2 + i, 1, '[]', 's' || i, 0, 1 FROM n WHERE ?1 > 0`,
        stored,
        Date.now() + DAY_MS,
      );
      sql.exec(
        `${numbers} INSERT INTO copies (source, id, userId, url, attempts, nextAt, isOver, isPaid)
          SELECT 's' || i, 'f' || i, '', '', 1, ?2 + i, i % 2, 0 FROM n WHERE ?1 > 0`,
        stored,
        Date.now() + DAY_MS,
      );
      let next: string | undefined;
      const page = await usedBy(async () => {
        next = (await ask({ do: "list", of: "files", after: "" })).next;
      });
      const second = await usedBy(() => ask({ do: "list", of: "files", after: next ?? "g" }));
      const jobs = await usedBy(() => ask({ do: "list", of: "copies", after: "" }));
      const erasure = await usedBy(() => ask({ do: "erase" }));
      return { page, second, jobs, erasure };
    });
    // the figures of the guides
    for (const { read, written } of [used.page, used.second, used.jobs]) {
      expect(read).toBeLessThanOrEqual(300);
      expect(written).toBe(0);
    }
    expect(used.erasure.read).toBeLessThanOrEqual(6300);
    expect(used.erasure.written).toBeLessThanOrEqual(5300);
  });

  test("ends with nothing left, over as many steps as it takes", async () => {
    await withIndex("steps of an erasure", async ({ ask, open, sql, alarm, keys }) => {
      await open("first");
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
          INSERT INTO files (id, bytes, type, expiresAt, isWhole, parts, isCount)
          SELECT 'f' || i, 10, 'image/png', ?1, 1, '[]', 0 FROM n`,
        Date.now() + DAY_MS,
      );
      for (let at = 1; at <= 1200; at += 1) keys.push(`media/f${at}`);
      let steps = 1;
      while ((await ask({ do: "erase" })).isMore) steps += 1;
      expect([steps, keys]).toEqual([3, []]);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 20 * MINUTE_MS });
      await alarm();
      await alarm();
      expect(sql.exec("SELECT name FROM sqlite_master WHERE name = 'files'").toArray()).toEqual([]);
    });
  });
});

test.each(["its user deletes", "is of a user who is erased"])(
  "case 123: a file that %s while it is stored is deleted again, where its request is lost after it has stored it",
  async (why) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
    await withIndex(`lost ${why}`, async ({ ask, open, alarm, keys, events }) => {
      await open("lost");
      if (why === "its user deletes") await ask({ do: "drop", id: "lost", isForGood: true });
      else await ask({ do: "erase" });
      keys.push("media/lost");
      expect((await ask({ do: "whole", id: "lost" })).file).toBeUndefined();
      expect((await ask({ do: "list", of: "files", after: "" })).files).toEqual([]);
      vi.setSystemTime(Date.now() + 17 * MINUTE_MS);
      await alarm();
      expect([keys, events]).toEqual([[], []]);
    });
  },
);

test("case 124: an upload that ends because no part comes is an event with its user and its size", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
  await withIndex("unfinished", async ({ ask, alarm, events }) => {
    const file = {
      id: "begun",
      bytes: 10,
      type: "image/png",
      expiresAt: Date.now() + MINUTE_MS,
      userId: "user-1",
    };
    await ask({ do: "open", file, isCopy: false, ...MOST });
    vi.setSystemTime(Date.now() + MINUTE_MS);
    await alarm();
    expect(events).toEqual([
      {
        kind: "upload",
        outcome: "dropped",
        code: "upload_unfinished",
        id: "begun",
        bytes: 10,
        user: "user-1",
      },
    ]);
  });
});
