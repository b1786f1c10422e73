import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom, type Random, runsOf, SEED } from "../../worker-proxy/test/support/random.js";
import { crash, step } from "./support/crash.js";
import { gateway, task } from "./support/durable-gateway.js";
import { type FuzzedEnv, parts, proxy, roomy, store, told } from "./support/fuzzed-archive.js";

/* Orders of polls, faults, deletions and evictions: each film that was paid for is there in the end, or its end was told. */

const START = Date.UTC(2040, 0, 1);
const SECOND = 1000;
const HOUR = 3_600 * SECOND;
const bindings = env as unknown as FuzzedEnv;
const png = (bytes: number) => {
  const file = new Uint8Array(bytes);
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return file;
};
const film = png(30_000);
const sent = (body: BodyInit | null, headers: object = {}) =>
  new Response(body, { headers: headers as Record<string, string> });
type Answer = (signal: AbortSignal) => Response | Promise<Response>;
const good = () => sent(film, { "content-length": "30000" });
/** A third of a film, and then an error. A body that stalls is a matter of sockets, and tested over them. */
const cut = () => {
  let pulls = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulls++ === 0) return controller.enqueue(film.slice(0, 10_000));
      controller.error(new Error("connection lost"));
    },
  });
  return sent(body);
};
const silent: Answer = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
const moved = (location: string) => new Response(null, { status: 302, headers: { location } });

/** Answers of a host of films that has trouble. */
const troubles: readonly Answer[] = [
  () => new Response("no", { status: 404 }),
  () => new Response("no", { status: 500 }),
  () => new Response("no", { status: 503, headers: { "retry-after": "864000" } }),
  () => sent("<!doctype html>", { "content-length": "15" }),
  () => sent(png(60_000), { "content-length": "60000" }),
  () => sent(null, { "content-length": "0" }),
  () => moved("https://cdn.example/elsewhere"),
  () => moved("https://10.0.0.1/film"),
  () => Promise.reject(new TypeError("connection lost")),
  cut,
  silent,
];

let asked: (random: Random) => Answer;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation(() => {});
  told.faulty = "";
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A request of a user; resolves when its work behind the answer is done, too. */
async function ask(path: string, init: RequestInit = {}, user = "user-1", files = proxy): Promise<Response> {
  const behind: Promise<unknown>[] = [];
  const { byteLength } = (init.body ?? new Uint8Array()) as Uint8Array;
  const headers = { authorization: user, ...(byteLength && { "content-length": String(byteLength) }) };
  const request = new Request(new URL(path, "https://proxy.example"), {
    ...init,
    headers: { ...headers, ...(init.headers as object) },
  });
  const answer = await files.fetch(request, bindings, { waitUntil: (work) => void behind.push(work) });
  const body = await answer.arrayBuffer();
  await Promise.all(behind);
  return new Response(body.byteLength > 0 ? body : null, { status: answer.status });
}

const post = (path: string, body: object, user: string) =>
  ask(
    path,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new TextEncoder().encode(JSON.stringify(body)),
    },
    user,
  );
const upload = (bytes: number, user: string) =>
  ask(
    "/v1/uploads",
    { method: "POST", headers: { "content-type": "application/octet-stream" }, body: png(bytes) },
    user,
  );
const indexOf = async (user?: string) => {
  const { FUZZED_INDEX } = env as unknown as { FUZZED_INDEX: typeof env.BUDGET };
  return FUZZED_INDEX.get(FUZZED_INDEX.idFromName(user ? await hashOf(`media\n${user}`) : "all"));
};

/** Lets the time of the alarm come, where it is within an hour. Returns false where there is none. */
async function ring(user?: string): Promise<boolean> {
  const index = await indexOf(user);
  const at = await runInDurableObject(index, (_, { storage }) => storage.getAlarm());
  if (at === null || at - Date.now() > HOUR) return false;
  vi.setSystemTime(Math.max(Date.now(), at));
  // the platform calls it again after a failure
  await runDurableObjectAlarm(index).catch(() => {});
  return true;
}

/**
 * Lets the process end at one of the calls of an act, where the act makes as many. The objects go on with what they have
 * stored. Returns true where it did.
 */
async function isCut(calls: number, act: () => Promise<unknown>): Promise<boolean> {
  // what an object was asked for fails with it
  const done = act().then(
    () => false,
    () => new Promise<boolean>(() => {}),
  );
  const isLost = await Promise.race([crash.in(calls).then(() => true), done]);
  crash.at = Infinity;
  return isLost;
}

/** The rows of an index. */
const stateOf = async (user?: string) =>
  await runInDurableObject(await indexOf(user), (_, { storage }) => {
    const read = (query: string) => {
      try {
        return storage.sql.exec(query).toArray();
      } catch {
        return [];
      }
    };
    return {
      open: Number(read("SELECT count(*) AS n FROM copies WHERE isOver = 0")[0]?.["n"] ?? 0),
      bytes: Number(read("SELECT bytes FROM sums")[0]?.["bytes"] ?? 0),
      ids: read("SELECT id FROM files").map(({ id }) => String(id)),
    };
  });

const bucket = bindings.FUZZED_MEDIA as unknown as {
  list(): Promise<{ objects: { key: string; size: number }[] }>;
};
const storedBytes = async () => (await bucket.list()).objects.reduce((sum, { size }) => sum + size, 0);

interface Listed {
  readonly id: string;
  readonly taskId?: string;
}

/** A user who makes films, deletes files and uploads others, in a world that fails. */
async function live(seed: number) {
  const random = openRandom(seed);
  const user = `user ${seed}`;
  const other = `other ${seed}`;
  const users = [user, other];
  let films = 0;
  let cuts = 0;
  /** Films whose success a poll has shown, by the ids that their user knows, and those that their user does not want. */
  const paid = new Map<string, string>();
  const deleted = new Set<string>();
  /** Films that were paid for before an erasure or a deletion without an answer: they may come back, and need not. */
  const unsure = new Set<string>();
  told.events.length = 0;
  asked = (rolls) => (rolls.rarely(0.5) ? good : rolls.one(troubles));
  vi.spyOn(globalThis, "fetch").mockImplementation((_, init) =>
    step(async () => asked(random)(init?.signal as AbortSignal)),
  );
  const poll = async (id: string) => {
    const answer = await ask(`/v1/video/generations/${id}`, {}, user);
    if (answer.status === 200) paid.set(id, id.slice(0, -23));
  };
  const listed = async (whose: string) =>
    ((await (await ask("/v1/uploads", {}, whose)).json()) as { files: Listed[] }).files;
  const remove = async (whose: string, { id, taskId }: Listed) => {
    // one that is cut off may have deleted it, or not
    if (taskId) unsure.add(taskId);
    await ask(`/v1/uploads/${id}`, { method: "DELETE" }, whose);
    if (taskId) deleted.add(taskId);
  };
  const cutIn = async (most: number, act: () => Promise<unknown>) => {
    if (await isCut(1 + random.below(most), act)) cuts += 1;
  };
  const actions: readonly (() => Promise<unknown>)[] = [
    async () => {
      const id = `film-${seed}-${films++}`;
      gateway.answers(({ method, url }) => {
        if (method === "POST") return Response.json({ id, status: "queued" });
        const name = url.slice(url.lastIndexOf("/") + 1);
        return task("SUCCESS", { task_id: name, result_url: `https://cdn.example/${name}?signed=${films}` });
      });
      const body = { model: "beta3.0-video", input: { prompt: "a" } };
      const created = (await (await post("/v1/video/generations", body, user)).json()) as { id: string };
      await poll(created.id);
    },
    async () => {
      const known = [...paid.keys()];
      if (known.length > 0) await Promise.all([poll(random.one(known)), poll(random.one(known))]);
    },
    () => ring(random.one(users)),
    () => ring(user),
    () => ring(undefined),
    // one that is not in memory has nothing to lose
    async () => evictDurableObject(await indexOf(random.one([user, undefined]))).catch(() => {}),
    () => cutIn(20, () => ring(user)),
    () => cutIn(20, () => ring(user)),
    async () => {
      const act = random.one([
        () => upload(random.one([10_000, 100_000]), user),
        async () => {
          for (const file of await listed(user)) await remove(user, file);
        },
      ]);
      await cutIn(16, act);
    },
    async () => {
      const files = await listed(user);
      if (files.length > 0) await remove(user, random.one(files));
    },
    () => upload(random.one([10_000, 100_000, 250_000]), random.one(users)),
    async () => {
      for (const file of await listed(other)) await remove(other, file);
    },
    async () => {
      told.faulty = random.one(["put", "delete", "", ""]);
    },
    async () => void vi.setSystemTime(Date.now() + random.below(600) * SECOND),
    async () => {
      if (!random.rarely(0.1)) return;
      await store.userData.eraseUser(bindings, user).catch(() => {});
      for (const id of paid.keys()) unsure.add(id);
      deleted.clear();
    },
  ];
  for (let nth = 0; nth < 30; nth += 1) {
    await random.one(actions)();
    expect(await storedBytes(), `seed ${seed}: more is stored than counted`).toBeLessThanOrEqual(
      (await Promise.all(users.map(stateOf))).reduce((sum, { bytes }) => sum + bytes, 0),
    );
  }

  // the world is whole again, and there is space
  told.faulty = "";
  asked = () => good;
  for (const whose of users)
    for (const file of await listed(whose)) if (!file.taskId) await remove(whose, file);
  let rings = 0;
  for (let isMoving = true; isMoving && rings < 200; rings += 1) {
    const moves = [await ring(user), await ring(other)];
    isMoving = moves.includes(true);
  }
  return { user, other, users, paid, deleted, unsure, rings, cuts };
}

test("cases 125 and 154: no order of polls, faults, deletions, evictions and cuts loses a film, a byte or an event", async () => {
  let seen = { films: 0, kept: 0, failed: 0, cuts: 0 };
  for (let seed = SEED; seed < SEED + runsOf(25); seed += 1) {
    vi.setSystemTime(START);
    const { user, users, paid, deleted, unsure, rings, cuts } = await live(seed);
    const name = `seed ${seed}`;
    expect(rings, `${name}: nothing moves any more`).toBeLessThan(200);
    const failed = new Set(
      told.events.filter(({ outcome }) => /failed|dropped/.test(outcome)).map(({ taskId }) => taskId),
    );
    const answer = await post("/v1/archive", { tasks: [...paid.keys(), "none"] }, user);
    const { files } = (await answer.json()) as { files: { name: string; url: string }[] };
    const kept = new Map(files.map((file) => [file.name, file.url]));
    for (const [id, taskId] of paid) {
      if (deleted.has(id)) expect(kept.has(id), `${name}: ${taskId} came back`).toBe(false);
      else if (!unsure.has(id))
        expect(kept.has(id) || failed.has(taskId), `${name}: ${taskId} is lost`).toBe(true);
    }
    for (const url of kept.values()) {
      const got = await ask(new URL(url).pathname, {}, "anyone");
      expect((await got.arrayBuffer()).byteLength, name).toBe(film.length);
    }
    seen = {
      films: seen.films + paid.size,
      kept: seen.kept + kept.size,
      failed: seen.failed + failed.size,
      cuts: seen.cuts + cuts,
    };
    // what is counted is what is stored
    const states = await Promise.all(users.map(stateOf));
    expect(
      states.map(({ open }) => open),
      `${name}: open jobs`,
    ).toEqual([0, 0]);
    const ids = states.flatMap((state) => state.ids).map((id) => `media/${id}`);
    const { objects } = await bucket.list();
    expect(objects.map(({ key }) => key).sort(), name).toEqual(ids.sort());
    const stored = objects.reduce((sum, { size }) => sum + size, 0);
    const all = await stateOf();
    expect([states.reduce((sum, { bytes }) => sum + bytes, 0), all.bytes], name).toEqual([stored, stored]);
    for (const whose of users) await store.userData.eraseUser(bindings, whose);
    expect((await bucket.list()).objects, name).toEqual([]);
    expect((await stateOf()).bytes, name).toBe(0);
  }
  // the world is neither too kind nor too cruel to say anything
  expect(seen.films).toBeGreaterThan(30);
  expect(seen.kept).toBeGreaterThan(15);
  expect(seen.failed).toBeGreaterThan(5);
  expect(seen.cuts).toBeGreaterThan(15);
});

const PART = 8_388_608;
/** Begins an upload of two parts, and sends the second. */
async function sendParts(user: string): Promise<void> {
  const part = (path: string, method: string, headers: object, body: Uint8Array<ArrayBuffer>) =>
    ask(
      path,
      { method, body, headers: { "content-type": "application/octet-stream", ...headers } },
      user,
      roomy,
    );
  const begun = await part("/v1/uploads", "POST", { "upload-length": String(PART + 10) }, png(PART));
  if (begun.status !== 201) return;
  const { id } = (await begun.json()) as { id: string };
  await part(`/v1/uploads/${id}`, "PATCH", { "upload-offset": String(PART) }, new Uint8Array(10));
}

test("case 154: an upload in parts that is lost at any of its calls leaves no part and no file behind", async () => {
  let calls = 1;
  for (let isLost = true; isLost; calls += 1) {
    const user = `parts ${calls}`;
    isLost = await isCut(calls, () => sendParts(user));
    expect(parts.size === 0 || (await stateOf(user)).bytes === PART + 10, `call ${calls}`).toBe(true);
    await endAll(user);
    expect([parts.size, (await bucket.list()).objects], `call ${calls}`).toEqual([0, []]);
    expect([(await stateOf(user)).bytes, (await stateOf()).bytes], `call ${calls}`).toEqual([0, 0]);
  }
  // each of them was lost once
  expect(calls).toBeGreaterThan(20);
});

test("case 154: an upload that is deleted while it is stored, and then lost, leaves no file behind", async () => {
  const user = "deleted";
  const file = png(10_000);
  let finish = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(file.slice(0, 5000));
      finish = () => {
        controller.enqueue(file.slice(5000));
        controller.close();
      };
    },
  });
  const headers = { "content-type": "application/octet-stream", "content-length": String(file.length) };
  const stored = ask("/v1/uploads", { method: "POST", body, headers }, user);
  await expect.poll(async () => (await stateOf(user)).bytes).toBe(file.length);
  const { ids } = await stateOf(user);
  expect((await ask(`/v1/uploads/${ids[0]}`, { method: "DELETE" }, user)).status).toBe(204);
  // right after the bucket has the file
  const isLost = await isCut(1, async () => {
    finish();
    await stored;
  });
  expect([isLost, await storedBytes()]).toEqual([true, file.length]);
  await endAll(user);
  expect([await storedBytes(), (await stateOf(user)).bytes, (await stateOf()).bytes]).toEqual([0, 0, 0]);
});

/** Lets two days go by, with each alarm of a user's files. */
async function endAll(user: string): Promise<void> {
  const until = Date.now() + 48 * HOUR;
  for (let isMoving = true; isMoving && Date.now() < until; ) {
    isMoving = await ring(user);
    if (!isMoving) {
      vi.setSystemTime(Date.now() + HOUR);
      isMoving = true;
    }
  }
}

test("case 155: an unfinished upload that the bucket does not end counts, and is ended later; each try is an event", async () => {
  told.events.length = 0;
  const user = "abort";
  // right after its first part was stored, and before that is noted
  await isCut(10, () => sendParts(user));
  expect(parts.size).toBe(1);
  told.faulty = "abort";
  const until = Date.now() + 3 * HOUR;
  while (Date.now() < until) if (!(await ring(user))) vi.setSystemTime(Date.now() + HOUR);
  expect([parts.size, (await stateOf(user)).bytes]).toEqual([1, PART + 10]);
  const tries = told.events.filter(({ outcome }) => outcome === "waiting");
  expect(tries.length).toBeGreaterThan(3);
  for (const one of tries) expect(one).toMatchObject({ kind: "upload", code: "not_deleted", user });
  expect(tries.map(({ attempts }) => attempts)).toEqual(tries.map((_, at) => at + 1));
  const unfinished = told.events.filter(({ outcome }) => outcome !== "waiting");
  expect(unfinished).toMatchObject([{ outcome: "dropped", code: "upload_unfinished", user }]);
  told.faulty = "";
  await endAll(user);
  expect([parts.size, (await stateOf(user)).bytes, (await stateOf()).bytes]).toEqual([0, 0, 0]);
});
