import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { userIndexIn } from "../src/objects/user-index.js";
import { count, useOf } from "./support/counted.js";
import { type CountedEnv, files, proxy } from "./support/counted-worker.js";
import { gateway, task } from "./support/durable-gateway.js";

/* The figures of the guides: what each step of a task and of a file uses. The guides have them under "What it costs". */

const START = Date.UTC(2040, 0, 1);
const DAY = 86_400_000;
const PART = 8_388_608;
/** A film that is not looked at any further than its first bytes. */
const filmOf = (bytes: number) => {
  const film = new Uint8Array(bytes);
  film.set([0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d]);
  return film;
};
const film = filmOf(100_000);
const bindings = env as unknown as CountedEnv;
let tests = 0;
let user = "";
let status = "";

beforeEach(() => {
  // alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(Math, "random").mockReturnValue(0);
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    count("outside");
    return new Response(film, { headers: { "content-length": String(film.length) } });
  });
  user = `user-${++tests}`;
  status = "QUEUED";
  gateway.answers(({ method, url }) => {
    if (!url.startsWith("https://gateway.example/")) return new Response(null, { status: 201 });
    if (method === "POST") return Response.json({ id: `task-${tests}`, status: "queued" });
    return task(status, { task_id: `task-${tests}`, result_url: `https://cdn.example/${tests}.mp4` });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A request of the user; resolves when its work behind the answer is done, too. */
async function ask(path: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  const behind: Promise<unknown>[] = [];
  const { length: size } = (init.body ?? "") as string | Uint8Array;
  const length = size > 0 && { "content-length": String(size) };
  const request = new Request(new URL(path, "https://proxy.example"), {
    ...init,
    headers: { authorization: user, ...length, ...(headers as object) },
  });
  const answer = await proxy.fetch(request, bindings, { waitUntil: (work) => void behind.push(work) });
  const body = await answer.arrayBuffer();
  await Promise.all(behind);
  const isEmpty = body.byteLength === 0;
  return new Response(isEmpty ? null : body, { status: answer.status, headers: answer.headers });
}

const json = { "content-type": "application/json" };
const bytes = { "content-type": "application/octet-stream" };
const post = (path: string, body: object) =>
  ask(path, { method: "POST", headers: json, body: JSON.stringify(body) });

async function create(): Promise<string> {
  const answer = await post("/v1/video/generations", { model: "beta3.0-video", input: { prompt: "a" } });
  return ((await answer.json()) as { id: string }).id;
}

/** The objects of the user. */
const objects = {
  watch: async () => env.COUNTED_WATCH.get(nameOf(`${await hashOf(user)}:task-${tests}`, "COUNTED_WATCH")),
  index: async () => env.COUNTED_INDEX.get(nameOf(await hashOf(`media\n${user}`), "COUNTED_INDEX")),
  all: async () => env.COUNTED_INDEX.get(nameOf("all", "COUNTED_INDEX")),
};
const nameOf = (name: string, binding: "COUNTED_WATCH" | "COUNTED_INDEX") => env[binding].idFromName(name);

/** Lets the time of an object's alarm come, and rings it. */
async function ring(kind: keyof typeof objects): Promise<void> {
  const object = await objects[kind]();
  const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  expect(at).not.toBeNull();
  vi.setSystemTime(Math.max(Date.now(), at ?? 0));
  await runDurableObjectAlarm(object);
}

/** Checks what a piece of work uses; returns its result. */
async function step<Result>(uses: string, work: () => Promise<Result>): Promise<Result> {
  let result: Result | undefined;
  const used = await useOf(async () => {
    result = await work();
  });
  const text = Object.entries(used).map(([name, times]) => `${name} ${times}`);
  expect.soft(text.join(", ")).toBe(uses);
  return result as Result;
}

const upload = (body: BodyInit & Uint8Array, headers = {}) =>
  ask("/v1/uploads", { method: "POST", headers: { ...bytes, ...headers }, body });
const fileIn = async (answer: Response) => (await answer.json()) as { id: string; url: string };

test("a task without a page: its create, polls, end, notice, copy, and what is forgotten days later", async () => {
  // the first rows of an object make its tables, too
  await upload(film);
  await userIndexIn(env.COUNTED_WATCH, await hashOf(user)).end({ id: "first", keptUntil: START + 90 * DAY });
  const id = await step("requests 2, rows 5, outside 1", create);
  const task = `/v1/video/generations/${id}`;
  await step("alarms 1, rows 3, outside 1", () => ring("watch"));
  await step("requests 1", () => ask(task));
  status = "SUCCESS";
  await step("alarms 1, rows 3, outside 1", () => ring("watch"));
  await step("requests 1, alarms 1, rows 12, outside 1", () => ring("watch"));
  await step("requests 3, alarms 1, rows 20, classA 1, outside 1", () => ring("index"));
  await step("requests 2", () => ask(task));
  await step("requests 1", () => post("/v1/archive", { tasks: [id] }));
  await step("alarms 1", () => ring("watch"));
  vi.setSystemTime(START + 40 * DAY);
  await step("requests 1, alarms 1, rows 10, deleted 1", () => ring("index"));
  await step("alarms 1, rows 1", () => ring("all"));
});

test("a task that its user removes after its end", async () => {
  await upload(film);
  const remove = (id: string) => ask(`/v1/video/generations/${id}/events`, { method: "DELETE" });
  const id = await create();
  status = "SUCCESS";
  await ring("watch");
  await ring("watch");
  await step("requests 1, rows 1", () => remove(id));
});

test("files: at once, in parts, by their links, deleted, and noted for a copy", async () => {
  await fileIn(await upload(film));
  const small = await fileIn(await step("requests 3, rows 12, classA 1", () => upload(film)));
  const first = { "upload-length": String(2 * PART + 10) };
  const large = await fileIn(await step("requests 4, rows 14, classA 2", () => upload(filmOf(PART), first)));
  const next = (offset: number, length: number) =>
    ask(`/v1/uploads/${large.id}`, {
      method: "PATCH",
      headers: { ...bytes, "upload-offset": String(offset) },
      body: new Uint8Array(length),
    });
  await step("requests 2, rows 3, classA 1", () => next(PART, PART));
  await step("requests 3, rows 5, classA 2", () => next(2 * PART, 10));
  const link = new URL(small.url).pathname;
  await step("classB 1", () => ask(link));
  await step("classB 2", () => ask(link, { headers: { range: "bytes=5-9" } }));
  await step("requests 1", () => ask(`/v1/uploads/${small.id}`));
  await step("requests 4, rows 8, deleted 1", () => ask(`/v1/uploads/${small.id}`, { method: "DELETE" }));
  vi.setSystemTime(START + 2 * DAY);
  await step("requests 1, alarms 1, rows 9, deleted 1", () => ring("index"));
  // the tables are gone with the last file
  await upload(film);
  const answer = { data: { status: "SUCCESS", result_url: "https://cdn.example/a.mp4" } };
  await step("requests 1, rows 6", () => files.archiveTask(bindings, { id: user }, { id: "a", answer }));
});
