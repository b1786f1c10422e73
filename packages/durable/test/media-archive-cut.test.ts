import { afterEach, beforeEach, expect, test } from "vitest";
import { shareWorkerd } from "./support/media.js";
import { film, sends, startArchive } from "./support/media-gateway.js";
import { host } from "./support/workerd.js";

shareWorkerd(9);

/* Copies that are cut off, and deletions while they run. One file is paid for once, and the bucket has no file of nobody. */

const COPY_MS = 300_000;
let proxy: Awaited<ReturnType<typeof startArchive>>;

/** A budget that pays one film, but not two. */
const store = { budgetBytes: 1.5 * film.length };

beforeEach(async () => {
  proxy = await startArchive({ retryMs: 600_000 }, store);
});
afterEach(() => proxy.close());

/** Serves half of a film, and the other half when it is told. Resolves when the half is on its way. */
function heldFilm(path: string) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    proxy.files.serves(path, async (response) => {
      response.writeHead(200, { "content-length": film.length });
      response.write(film.subarray(0, film.length / 2), () => resolve());
      await released;
      response.end(film.subarray(film.length / 2));
    });
  });
  return { begun, release };
}

/** Lets the time of one attempt pass, and wakes the object as a tab does. */
async function nextAttempt(id: string): Promise<void> {
  await proxy.pass(COPY_MS + 1000);
  await proxy.poll(id);
}

/** Ends a task whose film is copied after all that was noted before, and waits for it. */
async function copyLast(prompt: string): Promise<void> {
  proxy.files.serves(`/${prompt}.mp4`, sends(film));
  const id = await proxy.create(prompt);
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
}

/** Notes a film after all others, and sees that it can't be paid any more: the first one was. */
async function spend(): Promise<void> {
  proxy.files.serves("/second.mp4", sends(film));
  await proxy.poll(await proxy.create("second"));
  await expect.poll(() => proxy.failures()).toHaveLength(1);
  expect(proxy.failures()[0]).toMatch(/budget/);
}

test("a copy that an eviction cuts off is made again, once, and paid for once", async () => {
  const held = heldFilm("/cut.mp4");
  const id = await proxy.create("cut");
  await proxy.poll(id);
  await held.begun;
  await proxy.evict();
  held.release();
  // a process that starts again goes on with the copy at once
  if (host === "workerd")
    expect([await proxy.archived({ tasks: [id] }), await proxy.keys()]).toEqual([[], []]);

  proxy.files.serves("/cut.mp4", sends(film));
  await nextAttempt(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await proxy.archived({ tasks: [id] });
  expect(Buffer.compare(Buffer.from(await (await fetch(copy?.url ?? "")).arrayBuffer()), film)).toBe(0);
  expect(await proxy.keys()).toEqual([`media/${copy?.id}`]);
  expect(proxy.failures()).toEqual([]);
  await spend();
});

test("A copy whose meter fails is made by the next attempt, which pays for it", async () => {
  await proxy.close();
  proxy = await startArchive({}, { ...store, failsOnce: true });
  const id = await proxy.create("film");
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  expect(proxy.failures()).toHaveLength(1);
  proxy.files.serves("/second.mp4", sends(film));
  const second = await proxy.create("second");
  await proxy.poll(second);
  await expect.poll(() => proxy.failures()).toHaveLength(6);
  expect(proxy.failures().at(-1)).toMatch(/budget/);
  expect(await proxy.archived({ tasks: [second] })).toEqual([]);
});

test("a copy that is whole when an eviction cuts it off is not made again, and keeps its link", async () => {
  await proxy.close();
  proxy = await startArchive({}, { budgetBytes: 10 * film.length, holdsEnd: true });
  const id = await proxy.create("film");
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await proxy.archived({ tasks: [id] });
  await proxy.evict();
  await nextAttempt(id);
  await copyLast("last");
  expect(Buffer.from(await (await fetch(copy?.url ?? "")).arrayBuffer())).toEqual(Buffer.from(film));
  expect(proxy.files.requests.map(({ url }) => url)).toEqual(["/film.mp4", "/last.mp4"]);
});

test("a deletion while a copy runs wins: nothing stays, nothing comes back, and nothing is paid", async () => {
  const held = heldFilm("/unwanted.mp4");
  const id = await proxy.create("unwanted");
  await proxy.poll(id);
  await held.begun;
  const [copy] = await proxy.copies();
  const deletion = () => proxy.ask(`/v1/uploads/${copy}`, { method: "DELETE" });
  await expect.poll(async () => (await deletion()).status).toBe(204);
  held.release();
  await expect.poll(() => proxy.events().map(({ outcome }) => outcome)).toEqual(["stopped"]);
  await proxy.poll(id);
  await copyLast("last");
  expect(await proxy.archived({ tasks: [id] })).toEqual([]);
  expect(await proxy.keys()).toHaveLength(1);
});

test("a deletion wins also where the copy is cut off after it", async () => {
  const held = heldFilm("/both.mp4");
  const id = await proxy.create("both");
  await proxy.poll(id);
  await held.begun;
  const [copy] = await proxy.copies();
  const deletion = () => proxy.ask(`/v1/uploads/${copy}`, { method: "DELETE" });
  await expect.poll(async () => (await deletion()).status).toBe(204);
  await proxy.evict();
  held.release();
  proxy.files.serves("/both.mp4", sends(film));
  await nextAttempt(id);
  await spend();
  expect(await proxy.archived({ tasks: [id] })).toEqual([]);
  expect(await proxy.keys()).toEqual([]);
  expect(proxy.files.requests.filter(({ url }) => url === "/both.mp4")).toHaveLength(1);
});

test("a deletion wins also where the copy is whole, and the object does not know it yet", async () => {
  await proxy.close();
  proxy = await startArchive({}, { budgetBytes: 10 * film.length, holdsEnd: true });
  const id = await proxy.create("film");
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await proxy.archived({ tasks: [id] });
  expect((await proxy.ask(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
  await proxy.evict();
  await nextAttempt(id);
  await copyLast("last");
  expect(await proxy.archived({ tasks: [id] })).toEqual([]);
  expect(await proxy.keys()).toHaveLength(1);
  expect(proxy.files.requests.map(({ url }) => url)).toEqual(["/film.mp4", "/last.mp4"]);
});
