import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { shareWorkerd, statusOf } from "./support/media.js";
import { film, picture, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(2);

let proxy: Awaited<ReturnType<typeof startArchive>>;

beforeAll(async () => {
  proxy = await startArchive();
});
afterAll(() => proxy.close());

const bytesOf = async (url: string) => new Uint8Array(await (await fetch(url)).arrayBuffer());

describe("the film of a task", () => {
  test("is copied once, though three tabs poll at once and again, and its link gives it to everyone", async () => {
    const id = await proxy.create();
    await proxy.poll(id);
    await expect.poll(() => proxy.keys()).toHaveLength(1);
    await expect.poll(() => proxy.operations()).toEqual({ index: 4, alarms: 1, put: 1 });
    await Promise.all([1, 2, 3].map(() => proxy.poll(id)));
    const [copy] = await proxy.archived({ tasks: [id] });
    expect(copy).toMatchObject({ name: id, type: "video/mp4", bytes: film.length });
    expect(copy?.keptUntil).toBeGreaterThan(copy?.expiresAt ?? 0);
    expect(Buffer.compare(await bytesOf(copy?.url ?? ""), film)).toBe(0);
    expect(proxy.files.requests.map(({ url }) => url)).toEqual(["/film.mp4"]);
    expect(await proxy.keys()).toHaveLength(1);
  });

  test("does not delay the answer: a poll ends while the copy is held", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    proxy.files.serves("/held.mp4", async (response) => {
      await held;
      sends(film)(response);
    });
    const id = await proxy.create("held");
    const { response } = await proxy.poll(id);
    expect([response.status, response.headers.get("x-sluice-offers")]).toEqual([200, "archive=2592000000"]);
    expect(await proxy.archived({ tasks: [id] })).toEqual([]);
    release();
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  });

  test("is copied after its end was pushed, and the events arrive as they were sent", async () => {
    proxy.files.serves("/pushed.mp4", sends(film));
    const id = await proxy.create("pushed");
    const events = await proxy.ask(`/v1/video/generations/${id}/events`);
    expect(await events.text()).toMatch(/^event: task\ndata: \{.*pushed.*\}\n\nevent: end\ndata: \{\}\n\n$/);
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  });

  test("is copied by a later attempt, after its host failed and its connection broke", async () => {
    const answers = [
      (response: Parameters<ReturnType<typeof sends>>[0]) => void response.writeHead(503).end(),
      (response: Parameters<ReturnType<typeof sends>>[0]) => {
        response.writeHead(200, { "content-length": film.length });
        response.write(film.subarray(0, 1000), () => response.destroy());
      },
      sends(film),
    ];
    proxy.files.serves("/late.mp4", (response) => answers.shift()?.(response));
    const id = await proxy.create("late");
    await proxy.poll(id);
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
    const [copy] = await proxy.archived({ tasks: [id] });
    expect(Buffer.compare(await bytesOf(copy?.url ?? ""), film)).toBe(0);
    expect(answers).toEqual([]);
  });
});

test("a film that its host has packed is copied as it is", async () => {
  const packed = gzipSync(film);
  const headers = { "content-encoding": "gzip", "content-length": packed.length };
  proxy.files.serves("/packed.mp4", (response) => void response.writeHead(200, headers).end(packed));
  const id = await proxy.create("packed");
  await proxy.poll(id);
  await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  const [copy] = await proxy.archived({ tasks: [id] });
  expect(Buffer.compare(await bytesOf(copy?.url ?? ""), film)).toBe(0);
});

test("the last frame of a film is copied beside it, once, and both get new links by the task", async () => {
  proxy.files.serves("/framed.mp4", sends(film));
  proxy.files.serves("/framed.png", sends(picture, "image/png"));
  const id = await proxy.create("framed");
  await proxy.poll(id);
  await proxy.poll(id);
  const shown = async () => (await proxy.archived({ tasks: [id] })).map(({ lastFrame }) => lastFrame?.type);
  await expect.poll(shown).toEqual(["image/png"]);
  const [copy] = await proxy.archived({ tasks: [id] });
  expect(Buffer.compare(await bytesOf(copy?.url ?? ""), film)).toBe(0);
  expect(await bytesOf(copy?.lastFrame?.url ?? "")).toEqual(new Uint8Array(picture));
  expect(copy?.lastFrame).toMatchObject({ bytes: picture.length, keptUntil: expect.any(Number) });
  const fetched = proxy.files.requests.map(({ url }) => url).filter((url) => url.includes("framed"));
  expect(fetched.toSorted()).toEqual(["/framed.mp4", "/framed.png"]);
});

test("an image is copied from its answer, also without a length, and found by its link and by the copy's", async () => {
  proxy.files.serves("/dawn.mp4", (response) => void response.writeHead(200).end(picture));
  const { data } = await proxy.post<{ data: { url: string }[] }>("/v1/images/generations", {
    model: "gamma-image-5-0-260128",
    prompt: "dawn",
  });
  const url = data[0]?.url ?? "";
  await expect.poll(() => proxy.archived({ urls: [url] })).toHaveLength(1);
  const [copy] = await proxy.archived({ urls: [url] });
  expect(copy).toMatchObject({ name: url, type: "image/png", bytes: picture.length });
  await proxy.pass(3 * 86_400_000);
  onTestFinished(() => void proxy.pass(-3 * 86_400_000));
  expect(await statusOf(copy?.url ?? "")).toBe(404);
  const [renewed] = await proxy.archived({ urls: [copy?.url ?? ""] });
  expect(await bytesOf(renewed?.url ?? "")).toEqual(new Uint8Array(picture));
});

test("Nothing is offered or copied without an archive, and the path is not there", async () => {
  const plain = await startArchive(false);
  onTestFinished(() => plain.close());
  const { response } = await plain.poll(await plain.create());
  expect([response.status, response.headers.get("x-sluice-offers")]).toEqual([200, null]);
  const { error } = await plain.post<{ error: { code: string } }>("/v1/archive", { tasks: ["t"] });
  expect(error.code).toBe("not_found");
  expect([plain.files.requests, await plain.keys()]).toEqual([[], []]);
});

test("code that sees the end of a task elsewhere has its film copied", async () => {
  const id = "seen";
  proxy.files.serves("/seen.mp4", sends(film));
  const answer = { data: { task_id: id, status: "SUCCESS", result_url: `${proxy.files.url}/seen.mp4` } };
  await proxy.post("/tests/ended", { user: "user-1", id, answer });
  const own = await proxy.create(id);
  await expect.poll(() => proxy.archived({ tasks: [own] })).toHaveLength(1);
});
