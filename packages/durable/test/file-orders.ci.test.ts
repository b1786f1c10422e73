import { expect, test, vi } from "vitest";
import { countRuns, openRandom, type Random, SEED } from "../../worker-proxy/test/support/random.js";
import { type FaultyCall, openEndingArchive } from "./support/ending-archive.js";
import { redirectTo, serveFile } from "./support/file-archive.js";
import {
  createFile,
  DAY_MS,
  firstBytes,
  MINUTE_MS,
  PART_BYTES,
  readBytes,
  type Upload,
} from "./support/file-store.js";

/* Random orders of polls, faults, deletions and ends of processes. In the end, each paid result is stored, or its loss was reported. */

const START = Date.UTC(2040, 0, 1);
const BYTES = 30_000;
const videoBytes = createFile(firstBytes.mp4, BYTES);
type Serve = ReturnType<typeof serveFile>;
const good = serveFile(videoBytes);

const cut: Serve = () => {
  let pulls = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulls++ === 0) controller.enqueue(videoBytes.slice(0, 10_000));
      else controller.error(new Error("connection lost"));
    },
  });
  return new Response(body);
};

/** Responses of a faulty file host. */
const faults: readonly Serve[] = [
  () => new Response("no", { status: 404 }),
  () => new Response("no", { status: 500 }),
  () => new Response("no", { status: 503, headers: { "retry-after": "864000" } }),
  serveFile(createFile("<!doctype html>", 15)),
  serveFile(createFile(firstBytes.mp4, 60_000)),
  () => new Response(null, { headers: { "content-length": "0" } }),
  redirectTo("https://cdn.example.com/elsewhere"),
  redirectTo("https://10.0.0.1/video"),
  () => Promise.reject(new TypeError("connection lost")),
  cut,
  ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
];

type Archive = Awaited<ReturnType<typeof openEndingArchive>>;

/** A user who makes videos, deletes files and uploads others, while the bucket, the hosts and the process fail. */
async function runActions(archive: Archive, random: Random, seed: number) {
  const user = `user ${seed}`;
  const other = `other ${seed}`;
  const users = [user, other];
  let serve: (random: Random) => Serve = (rolls) => (rolls.rarely(0.5) ? good : rolls.one(faults));
  const { sources, clock, drive } = archive;
  let videos = 0;
  let ends = 0;
  /** The gateway's task ids of videos that a poll has shown as complete, by the ids that clients know. */
  const paid = new Map<string, string>();
  /** Task ids of videos that their user has deleted. */
  const deleted = new Set<string>();
  /** Videos whose copies may or may not exist at the end: an erasure or a deletion without a response came after them. */
  const uncertain = new Set<string>();

  const poll = async (id: string, taskId: string) => {
    const { response } = await archive.store.poll(id, user);
    if (response.status === 200) paid.set(id, taskId);
  };
  const remove = async (whose: string, { id, taskId }: Upload) => {
    if (taskId) uncertain.add(taskId);
    const { status } = await archive.store.request(`/v1/uploads/${id}`, { user: whose, method: "DELETE" });
    if (taskId && status === 204) deleted.add(taskId);
  };
  const removeAll = async (whose: string) => {
    for (const file of (await archive.store.list(whose)).files) await remove(whose, file);
  };
  const upload = (whose: string) =>
    archive.store.upload(createFile(firstBytes.png, random.one([10_000, 100_000, 250_000])), { user: whose });
  /** Lets a random time pass, and runs the jobs that are due. */
  const pass = async () => {
    await clock.pass(random.below(20) * MINUTE_MS);
    if (random.rarely(0.1)) await clock.run(6 * MINUTE_MS);
  };
  const end = async (maxCalls: number, work: () => Promise<unknown>) => {
    if (await archive.endDuring(1 + random.below(maxCalls), work)) ends += 1;
  };
  const make = async () => {
    const taskId = `video-${seed}-${videos++}`;
    sources.serve(`${taskId}.mp4`, (request) => serve(random)(request));
    const id = await archive.store.create(taskId, user);
    if (id) await poll(id, taskId);
  };
  const actions: readonly (() => Promise<unknown>)[] = [
    make,
    make,
    async () => {
      const paidBefore = [...paid];
      if (paidBefore.length === 0) return;
      await Promise.all([poll(...random.one(paidBefore)), poll(...random.one(paidBefore))]);
    },
    pass,
    pass,
    pass,
    () => end(20, pass),
    () => end(20, pass),
    () => end(20, pass),
    () => end(12, () => random.one([() => upload(user), () => removeAll(user)])()),
    async () => {
      const { files } = await archive.store.list(user);
      if (files.length > 0) await remove(user, random.one(files));
    },
    () => upload(random.one(users)),
    () => removeAll(other),
    async () => {
      archive.faulty.clear();
      const call = random.one<FaultyCall | undefined>(["put", "delete", undefined, undefined]);
      if (call) archive.faulty.add(call);
    },
    async () => {
      if (!random.rarely(0.1)) return;
      for (const id of paid.keys()) uncertain.add(id);
      deleted.clear();
      await archive.store.erase(user)?.catch(() => {});
    },
  ];
  for (let nth = 0; nth < 30; nth += 1) {
    await drive(random.one(actions)());
    const { stored, counted } = await compareBytes();
    expect(stored, `seed ${seed}: more is stored than counted`).toBeLessThanOrEqual(counted);
  }

  // nothing fails any more, and there is space
  archive.faulty.clear();
  serve = () => good;
  for (const whose of users)
    for (const file of (await archive.store.list(whose)).files)
      if (!file.taskId) await drive(remove(whose, file));
  const isMoving = async () => {
    const rows = await Promise.all(users.map((whose) => archive.readRows(whose)));
    return (
      rows.some(({ waiting }) => waiting > 0) ||
      archive.keys().length !== rows.flatMap(({ ids }) => ids).length
    );
  };
  let looks = 0;
  for (; looks < 200 && (await isMoving()); looks += 1) await clock.pass(10 * MINUTE_MS);
  // events follow the writes
  await clock.pass(MINUTE_MS);
  return { user, users, paid, deleted, uncertain, ends, looks };

  /** Reads the bytes in the bucket and in the rows at a time at which no job changes the bucket. */
  async function compareBytes(): Promise<{ stored: number; counted: number }> {
    const stored = archive.countBytes();
    const rows = await Promise.all(users.map((whose) => archive.readRows(whose)));
    if (archive.countBytes() !== stored) return await compareBytes();
    return { stored, counted: rows.reduce((sum, { bytes }) => sum + bytes, 0) };
  }
}

test("no order of polls, faults, deletions and ends of processes loses a result, a byte or an event (cases 125, 154)", async () => {
  const totals = { videos: 0, copied: 0, failed: 0, ends: 0 };
  for (let seed = SEED; seed < SEED + countRuns(16); seed += 1) {
    const random = openRandom(seed);
    const archive = await openEndingArchive({
      archive: { hosts: ["cdn.example.com"], maxBytes: 50_000 },
      options: { maxBytesPerUser: 300_000 },
    });
    vi.setSystemTime(START);
    const { user, users, paid, deleted, uncertain, ends, looks } = await runActions(archive, random, seed);
    const name = `seed ${seed}`;
    expect(looks, `${name}: something waits for ever`).toBeLessThan(200);
    const failed = new Set(
      archive
        .events()
        .filter(({ outcome }) => /error|dropped/.test(outcome))
        .map(({ taskId }) => taskId),
    );
    const copies = await archive.store.findCopies({ tasks: [...paid.keys(), "none"] }, user);
    const copied = new Map(copies.map((copy) => [copy.name, copy.url]));
    for (const [id, taskId] of paid) {
      if (deleted.has(id)) expect(copied.has(id), `${name}: ${taskId} came back`).toBe(false);
      else if (!uncertain.has(id))
        expect(copied.has(id) || failed.has(taskId), `${name}: ${taskId} is lost`).toBe(true);
    }
    for (const url of copied.values())
      expect((await readBytes(await archive.store.request(url))).length, name).toBe(BYTES);
    totals.videos += paid.size;
    totals.copied += copied.size;
    totals.failed += failed.size;
    totals.ends += ends;
    // the rows name exactly the stored files, and count exactly their bytes
    const rows = await Promise.all(users.map((whose) => archive.readRows(whose)));
    const ids = rows.flatMap((row) => row.ids).map((id) => `media/${id}`);
    expect(archive.keys().sort(), name).toEqual(ids.sort());
    const counted = rows.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(counted, name).toBe(archive.countBytes());
    for (const whose of users) await archive.drive(Promise.resolve(archive.store.erase(whose)));
    expect(archive.keys(), name).toEqual([]);
    await archive.close();
  }
  // the faults are neither too few nor too many to show something
  expect(totals.videos).toBeGreaterThan(countRuns(16));
  expect(totals.copied).toBeGreaterThan(countRuns(16) / 2);
  expect(totals.failed).toBeGreaterThan(countRuns(16) / 5);
  expect(totals.ends).toBeGreaterThan(countRuns(16) / 2);
});

test("an upload in parts leaves no part and no file behind if its process ends at any step (case 154)", async () => {
  const archive = await openEndingArchive({ archive: false });
  const whole = createFile(firstBytes.mp4, PART_BYTES + 10);
  let count = 1;
  for (let isEnded = true; isEnded; count += 1) {
    const user = `parts ${count}`;
    isEnded = await archive.endDuring(count, async () => {
      const { id } = await archive.store.begin(whole, user);
      await archive.store.sendPart(id, whole, PART_BYTES, user);
    });
    const { bytes } = await archive.readRows(user);
    expect(archive.countBytes(), `step ${count}`).toBeLessThanOrEqual(bytes);
    for (let hour = 0; hour < 30; hour += 1) await archive.clock.pass(60 * MINUTE_MS);
    const sum = (await archive.readRows(user)).bytes;
    // the bucket itself ends an upload without a part
    expect([archive.countBytes(), archive.keys(), sum], `step ${count}`).toEqual([0, [], 0]);
  }
  expect(count).toBeGreaterThan(15);
});

test("an unfinished upload that the bucket does not end counts, and is ended later; each try is an event (case 155)", async () => {
  const { store, clock, faulty, readRows, countUploads, events, countBytes } = await openEndingArchive({
    archive: false,
  });
  const whole = createFile(firstBytes.mp4, PART_BYTES + 10);
  const { id } = await store.begin(whole);
  faulty.add("abort");
  for (let look = 0; look < 12; look += 1) await clock.pass(20 * MINUTE_MS);
  expect([countUploads(), (await readRows("user-1")).bytes]).toEqual([1, PART_BYTES + 10]);
  const tries = events().filter(({ outcome }) => outcome === "retrying");
  expect(tries.length).toBeGreaterThan(3);
  for (const one of tries)
    expect(one).toMatchObject({ job: "upload", code: "not_deleted", id, userId: "user-1" });
  expect(tries.map(({ attempts }) => attempts)).toEqual(tries.map((_, at) => at + 1));
  const unfinished = events().filter(({ outcome }) => outcome !== "retrying");
  expect(unfinished).toMatchObject([{ outcome: "dropped", code: "upload_unfinished", userId: "user-1" }]);
  faulty.clear();
  for (let day = 0; day < 3; day += 1) await clock.pass(DAY_MS);
  expect([countUploads(), countBytes(), (await readRows("user-1")).bytes]).toEqual([0, 0, 0]);
});
