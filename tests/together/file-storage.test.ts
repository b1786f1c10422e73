import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createBatch } from "@sluice/batch";
import { createClient } from "@sluice/core";
import { fileStorage } from "@sluice/stores/node";
import { storageTests } from "@sluice/stores/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/* A storage in one file, after a kill, writes of another process, and a full disk. */

let folder = "";
let files = 0;
const newFile = () => join(folder, `${++files}.jsonl`);
const records = (...entries: [string, unknown][]) => new Map<string, unknown>(entries);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-file-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("The contract in a file", () => {
  const path = () => join(folder, "contract.jsonl");
  const cases = storageTests({
    create: () => fileStorage(path()),
    createUnreachable: () => fileStorage(join(folder, "none", "a")),
    damage: (collection, key) =>
      appendFile(path(), `${JSON.stringify({ collection, records: [[key, '{"text":"Hel']] })}\n`),
    deadlineMs: 30_000,
  });
  // a file has no `broadcast`
  const applies = cases.filter(({ title }) => !/broadcasts records/.test(title));
  test.for(applies)("$title", ({ run }, context) => run(context));
});

test("records survive a restart, and removed records do not", async () => {
  const path = newFile();
  const storage = fileStorage(path);
  await storage.write("a", records(["1", { text: "é\n" }], ["2", 2]));
  await storage.write("a", records(["2", undefined], ["3", null]));
  await storage.write("b", records(["1", "other"]));
  const later = fileStorage(path);
  expect(await later.read("a")).toEqual(records(["1", { text: "é\n" }], ["3", null]));
  expect(await later.read("b")).toEqual(records(["1", "other"]));
  await later.clear?.("a");
  expect([await storage.read("a"), await storage.read("b")]).toEqual([new Map(), records(["1", "other"])]);
});

test("a file that was cut at any byte has each whole write, none in part, and takes the next one", async () => {
  const path = newFile();
  const storage = fileStorage(path);
  const ends = [0];
  for (let nth = 1; nth <= 3; nth += 1) {
    await storage.write("a", records(["first", `é${nth}`], ["second", nth]));
    ends.push((await stat(path)).size);
  }
  const whole = await readFile(path);
  const cuts = Array.from({ length: whole.length + 1 }, (_, cut) => cut);
  await Promise.all(cuts.map(check));

  async function check(cut: number): Promise<void> {
    const at = newFile();
    await writeFile(at, whole.subarray(0, cut));
    // only the newline may be missing
    const nth = ends.filter((end) => end > 0 && end <= cut).length;
    const stored =
      nth === 0
        ? []
        : [
            ["first", `é${nth}`],
            ["second", nth],
          ];
    const opened = fileStorage(at);
    expect([...(await opened.read("a"))], `cut at ${cut}`).toEqual(stored);
    await opened.write("b", records(["next", cut]));
    expect(await fileStorage(at).read("b"), `cut at ${cut}`).toEqual(records(["next", cut]));
  }
});

test("a few lines that are no records are left out", async () => {
  const path = newFile();
  for (const value of [0, 1]) await fileStorage(path).write("a", records(["1", value]));
  await appendFile(path, 'nonsense\n\n[]\n{"collection":7}\n{"collection":"a","records":"b"}\n\0\0\0\n');
  await fileStorage(path).write("a", records(["2", 2]));
  expect(await fileStorage(path).read("a")).toEqual(records(["1", 1], ["2", 2]));
});

/** Writes a ledger of twelve records, changes its file, and returns its path. */
async function damaged(change: (whole: Buffer) => Uint8Array | string): Promise<string> {
  const path = newFile();
  const storage = fileStorage(path);
  for (let nth = 0; nth < 12; nth += 1) await storage.write("a", records([`${nth}`, { text: "é", nth }]));
  await writeFile(path, change(await readFile(path)));
  return path;
}

describe("a file that is not a journal is refused, and stays unchanged:", () => {
  const random = (bytes: number) =>
    Buffer.from(Array.from({ length: bytes }, (_, at) => (at * at * 31) % 251));
  test.for<[string, (whole: Buffer) => Uint8Array | string]>([
    ["a ledger in UTF-16", (whole) => Buffer.from(`\ufeff${whole}`, "utf16le")],
    ["a ledger in UTF-16 without a mark", (whole) => Buffer.from(String(whole), "utf16le")],
    ["a compressed ledger", (whole) => gzipSync(whole)],
    ["random bytes", () => random(5000)],
    ["bytes without a line", () => random(100).filter((byte) => byte !== 10)],
    ["the user's text", () => "A reef at dawn\nA reef at night\n"],
    ["the user's text without a line end", () => "A reef at dawn"],
    ["the user's list of requests", () => '{"prompt":"A reef"}\n{"prompt":"A boat"}\n'],
    ["a JSON document", () => JSON.stringify({ name: "app", version: 1 }, null, 2)],
    [
      "a ledger that is damaged for the most part",
      (whole) => whole.map((byte, at) => (at > 200 && byte !== 10 ? 120 : byte)),
    ],
  ])("%s", async ([, change]) => {
    const path = await damaged(change);
    const before = await readFile(path);
    const problem = `${path} is not a file of fileStorage()`;
    await expect(fileStorage(path).read("a")).rejects.toThrow(problem);
    const storage = fileStorage(path);
    await expect(storage.write("a", records(["1", 1]))).rejects.toThrow(problem);
    await expect(storage.lock?.("batch")).rejects.toThrow(problem);
    await expect(storage.clear?.("a")).rejects.toThrow(problem);
    expect(await readFile(path)).toEqual(before);
  });
});

test("a batch whose ledger can't be read sends nothing, and pays nothing again", async () => {
  const path = newFile();
  let paid = 0;
  const client = createClient({
    baseURL: "https://gateway.test",
    apiKey: "sk-test",
    async fetch() {
      paid += 1;
      return Response.json({ data: [{ url: "https://cdn.test/reef.png" }] });
    },
  });
  const requests = [{ image: { model: "gamma-image-5-0-260128", prompt: "A reef" } }] as const;
  const run = async () => createBatch(client, requests, { id: "reefs", storage: fileStorage(path) }).run();
  await run();
  expect(paid).toBe(1);
  await run();
  await writeFile(path, Buffer.from(await readFile(path, "utf8"), "utf16le"));
  const message = expect.stringContaining(`${path} is not a file of fileStorage()`);
  expect(await run()).toMatchObject({ status: "error", error: { message }, done: 0 });
  expect(paid).toBe(1);
});

describe("a ledger keeps its records after", () => {
  test.for<[string, (whole: Buffer) => Uint8Array | string, number]>([
    ["its tail was cut", (whole) => whole.subarray(0, -10), 11],
    ["one byte was flipped", (whole) => whole.with(3, 0), 11],
    ["a line of garbage was added", (whole) => `${whole}no record\n`, 12],
    ["a line of garbage was put before it", (whole) => `no record\n${whole}`, 12],
    [
      "an editor has saved it with a mark and CRLF",
      (whole) => `\ufeff${String(whole).replaceAll("\n", "\r\n")}`,
      12,
    ],
    ["zeros were added in a power failure", (whole) => Buffer.concat([whole, Buffer.alloc(4096)]), 12],
    ["its first line was lost in a power failure", (whole) => whole.fill(0, 0, whole.indexOf("\n")), 11],
    ["each second write was killed", (whole) => String(whole).replace(/(.*\n)(.{20}).*\n/g, "$1$2\n"), 6],
  ])("%s", async ([, change, left]) => {
    const path = await damaged(change);
    await fileStorage(path).write("b", records(["next", 1]));
    expect((await fileStorage(path).read("a")).size).toBe(left);
    expect(await fileStorage(path).read("b")).toEqual(records(["next", 1]));
  });
});

test("a record without JSON, or a folder that is missing, rejects and changes nothing", async () => {
  const path = newFile();
  const storage = fileStorage(path);
  await expect((async () => storage.write("a", records(["1", () => {}])))()).rejects.toThrow(TypeError);
  expect(await storage.read("a")).toEqual(new Map());
  await expect(fileStorage(join(folder, "none", "a")).write("a", records(["1", 1]))).rejects.toThrow(
    "ENOENT",
  );
});

test("a file that could not be opened is opened the next time, and what was refused is not written", async () => {
  const path = join(folder, "later", "ledger.jsonl");
  const storage = fileStorage(path);
  await expect(storage.read("a")).rejects.toThrow("ENOENT");
  await expect(storage.write("a", records(["1", "refused"]))).rejects.toThrow("ENOENT");
  await mkdir(join(folder, "later"));
  expect(await storage.read("a")).toEqual(new Map());
  await storage.write("a", records(["2", "written"]));
  await rename(join(folder, "later"), join(folder, "away"));
  await expect(storage.write("a", records(["3", "refused"]))).rejects.toThrow("ENOENT");
  await rename(join(folder, "away"), join(folder, "later"));
  await storage.write("a", records(["4", "written"]));
  expect(await fileStorage(path).read("a")).toEqual(records(["2", "written"], ["4", "written"]));
});

test("a watcher gets the writes of another process, and none that were there before", async () => {
  const path = newFile();
  const [first, second] = [fileStorage(path), fileStorage(path)];
  await second.write("a", records(["old", 1]));
  const seen: [string, unknown][] = [];
  const stop = first.subscribe("a", (changes) => seen.push(...changes));
  await first.read("a");
  seen.length = 0;
  await expect
    .poll(async () => {
      await second.write("a", records(["new", 2]));
      return seen;
    })
    .toContainEqual(["new", 2]);
  stop();
});

describe("a lock of the file", () => {
  test("belongs to one of those that want it at once", async () => {
    const path = newFile();
    const locks = await Promise.all(Array.from({ length: 5 }, () => fileStorage(path).lock?.("batch")));
    const acquired = locks.filter((lock) => lock !== undefined);
    expect(acquired).toHaveLength(1);
    expect(await fileStorage(path).lock?.("another")).toBeDefined();
    await acquired[0]?.release();
    expect(await fileStorage(path).lock?.("batch")).toBeDefined();
  });

  test("is free as soon as its process was killed", async () => {
    const path = newFile();
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    await takenBy(path, child.pid ?? 0, hostname());
    expect(await fileStorage(path).lock?.("batch")).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await fileStorage(path).lock?.("batch")).toBeDefined();
  });

  test("is free after a minute without a sign, where its process can't be looked at or its number is in use", async () => {
    for (const host of [hostname(), "another-machine"]) {
      const path = newFile();
      await takenBy(path, process.ppid, host);
      expect(await fileStorage(path).lock?.("batch")).toBeUndefined();
      const longAgo = new Date(Date.now() - 61_000);
      await utimes(path, longAgo, longAgo);
      expect(await fileStorage(path).lock?.("batch")).toBeDefined();
    }
  });

  test("rejects writes after another process has taken it over", async () => {
    const path = newFile();
    const storage = fileStorage(path);
    const lost = await storage.lock?.("batch");
    await lost?.write("a", records(["1", "mine"]));
    // this process was asleep, so the other process considers it dead
    const { take } = JSON.parse((await readFile(path, "utf8")).split("\n")[0] ?? "");
    const line = { lock: "batch", take: { token: "other", pid: process.ppid, host: "b" }, after: take.token };
    await appendFile(path, `${JSON.stringify(line)}\n`);
    await appendFile(
      path,
      `${JSON.stringify({ lock: "batch", by: "other", collection: "a", records: [["1", '"theirs"']] })}\n`,
    );
    await expect(lost?.write("a", records(["1", "mine again"]))).rejects.toThrow('has taken over "batch"');
    expect([await storage.read("a"), await fileStorage(path).read("a")]).toEqual([
      records(["1", "theirs"]),
      records(["1", "theirs"]),
    ]);
    await lost?.release();
    expect(await fileStorage(path).lock?.("batch")).toBeUndefined();
  });

  test("is not believed in of a file that was emptied or deleted: its holder writes nothing", async () => {
    for (const lose of [(path: string) => truncate(path, 0), rm]) {
      const path = newFile();
      const lock = await fileStorage(path).lock?.("batch");
      await lose(path);
      await expect(lock?.write("a", records(["1", 1]))).rejects.toThrow("was deleted or emptied");
      expect((await fileStorage(path).read("a")).size).toBe(0);
    }
  });
});

/** Writes that a process has the lock "batch". */
async function takenBy(path: string, pid: number, host: string): Promise<void> {
  await appendFile(
    path,
    `${JSON.stringify({ lock: "batch", take: { token: "t", pid, host }, after: null })}\n`,
  );
}
