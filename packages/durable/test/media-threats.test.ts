import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileOf, PART, shareWorkerd, startMediaProxy, starts, statusOf } from "./support/media.js";

shareWorkerd(7);

type Proxy = Awaited<ReturnType<typeof startMediaProxy>>;
type Stored = { readonly id: string; readonly url: string; readonly expiresAt: number };

const png = fileOf(starts.png, 1000);
let proxy: Proxy;

beforeAll(async () => {
  proxy = await startMediaProxy({ userFiles: 10_000 });
});
afterAll(() => proxy.close());

const stored = async (at: Proxy, user = "user-1", file = png) =>
  (await (await at.upload(file, { user })).json()) as Stored;
const textFile = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

async function codeOf(response: Promise<Response>): Promise<readonly [number, string]> {
  const answer = await response;
  return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
}

/** A video task with this address as its first frame. */
const ordered = (at: Proxy, url: string, user = "user-1") =>
  at.ask("/v1/video/generations", {
    user,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "beta3.0-video", input: { media: [{ type: "first_frame", url }] } }),
  });

describe("what a file is", () => {
  test.each([
    ["a drawing that can run scripts", '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
    ["a page", "<!doctype html><title>x</title>"],
    ["a page behind a byte order mark", "\uFEFF  <html>"],
    ["a page behind a comment", "<!-- x --><p>x"],
    ["XML", '<?xml version="1.0"?><svg/>'],
    ["a program", "MZ\0\x01\x02"],
  ])("case 70: %s is refused, whatever its header says", async (_, text) => {
    const headers = { "content-type": "application/octet-stream", "x-content-type": "image/png" };
    expect(await codeOf(proxy.upload(textFile(text), { headers }))).toEqual([415, "file_type"]);
  });

  test("case 70: a type that the operator has not listed is refused", async () => {
    const images = await startMediaProxy({ types: ["image/png"] });
    expect(await codeOf(images.upload(fileOf(starts.mp4, 1000)))).toEqual([415, "file_type"]);
    expect((await images.upload(png)).status).toBe(201);
    await images.close();
  });

  test("case 74: text with HTML further down is given as text to save, and runs nothing", async () => {
    const text = `${"a line of text\n".repeat(100)}<script>alert(1)</script>`;
    const { url } = await stored(proxy, "user-1", textFile(text));
    const got = await fetch(url);
    expect(await got.text()).toBe(text);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      "content-type": "text/plain",
      "x-content-type-options": "nosniff",
      "content-disposition": expect.stringMatching(/^attachment;/),
      "content-security-policy": "default-src 'none'; sandbox",
    });
  });
});

describe("a link", () => {
  test("case 71: with one letter changed leads nowhere, and ids can't be listed or guessed", async () => {
    const { url, id } = await stored(proxy);
    for (const at of [1, 30, 46, 60].map((back) => url.length - back)) {
      const other = url[at] === "a" ? "b" : "a";
      expect(await statusOf(url.slice(0, at) + other + url.slice(at + 1))).toBe(404);
    }
    for (const path of [`/v1/media/${id}`, "/v1/media/", `/v1/media/${"a".repeat(44)}`])
      expect([404, 405]).toContain((await proxy.ask(path)).status);
  });

  test("case 71: the id of a file of another user looks like one that does not exist", async () => {
    const { id } = await stored(proxy);
    const foreign = await proxy.ask(`/v1/uploads/${id}`, { user: "user-2" });
    const unknown = await proxy.ask(`/v1/uploads/${"a".repeat(44)}`, { user: "user-2" });
    expect([foreign.status, await foreign.text()]).toEqual([404, await unknown.text()]);
  });

  test("case 75: ends with its time, and the file is gone from the bucket", async () => {
    const short = await startMediaProxy({ keepMs: 500 });
    const { url, expiresAt } = await stored(short);
    expect(expiresAt).toBeLessThan(Date.now() + 600);
    await expect.poll(() => statusOf(url)).toBe(404);
    expect(await codeOf(ordered(short, url))).toEqual([400, "media_not_allowed"]);
    await expect.poll(() => short.keys()).toEqual([]);
    await short.close();
  });

  test("case 69: of one user is refused in the task of another", async () => {
    const { url } = await stored(proxy);
    expect(await codeOf(ordered(proxy, url, "user-2"))).toEqual([400, "media_not_allowed"]);
    proxy.upstream.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"id":"t-1","status":"queued"}');
    });
    expect((await ordered(proxy, url)).status).toBe(200);
    expect(proxy.upstream.requests).toHaveLength(1);
  });

  test("case 69: passes the gate of media at its own address, and at no other", async () => {
    const local = await startMediaProxy({ publicURL: "http://files.localhost:1/api/" });
    const { url } = await stored(local);
    expect(url).toMatch(/^http:\/\/files\.localhost:1\/api\/v1\/media\//);
    local.upstream.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"id":"t-1","status":"queued"}');
    });
    expect((await ordered(local, url)).status).toBe(200);
    const inside = url.replace("files.localhost:1", "10.0.0.1");
    expect(await codeOf(ordered(local, inside))).toEqual([400, "media_not_allowed"]);
    expect(local.upstream.requests).toHaveLength(1);
    await local.close();
  });
});

describe("the bucket", () => {
  test("case 72: takes no more than a user's space, also from 20 uploads at once", async () => {
    const small = await startMediaProxy({ userBytes: 3500 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => small.upload(png)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    expect(statuses.filter((status) => status === 413)).toHaveLength(17);
    expect(await small.keys()).toHaveLength(3);
    // what is deleted makes room
    const [first] = await Promise.all(
      answers.filter(({ status }) => status === 201).map(async (answer) => (await answer.json()) as Stored),
    );
    await small.ask(`/v1/uploads/${first?.id}`, { method: "DELETE" });
    expect((await small.upload(png)).status).toBe(201);
    expect((await small.upload(png, { user: "user-2" })).status).toBe(201);
    await small.close();
  });

  test("case 72: takes no more than all users may have together, and no more files than one may", async () => {
    const small = await startMediaProxy({ allBytes: 2500, userFiles: 1, maxBytes: 2000 });
    const [one, more] = [await small.upload(png), await codeOf(small.upload(png))];
    expect([one.status, more]).toEqual([201, [413, "too_many_files"]]);
    expect((await small.upload(png, { user: "user-2" })).status).toBe(201);
    expect(await codeOf(small.upload(png, { user: "user-3" }))).toEqual([503, "storage_full"]);
    // what was refused holds no space
    expect(await codeOf(small.upload(fileOf(starts.png, 2001), { user: "user-3" }))).toEqual([
      413,
      "file_too_large",
    ]);
    expect((await small.upload(fileOf(starts.png, 400), { user: "user-3" })).status).toBe(201);
    expect(small.logs.join("\n")).toContain("allBytes is used up");
    await small.close();
  });

  test("case 72: uploads count in a budget, and those that are refused do not", async () => {
    const paid = await startMediaProxy({ budgetBytes: 2500, userBytes: 1500 });
    expect((await paid.upload(png)).status).toBe(201);
    expect(await codeOf(paid.upload(png))).toEqual([413, "storage_full"]);
    const { status, headers } = await paid.upload(fileOf(starts.png, 1600));
    expect([status, headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect((await paid.upload(fileOf(starts.png, 500))).status).toBe(201);
    await paid.close();
  });
});

describe("an upload", () => {
  const film = fileOf(starts.mp4, PART + 1000);
  const length = { "upload-length": String(film.length) };
  const last = { method: "PATCH", headers: { "upload-offset": String(PART) } };

  test("case 73: that is whole takes no part again", async () => {
    const { id } = (await (await proxy.upload(film.slice(0, PART), { headers: length })).json()) as Stored;
    const path = `/v1/uploads/${id}`;
    expect((await proxy.upload(film.slice(PART), { ...last, path })).status).toBe(200);
    const other = fileOf("other bytes", 1000);
    expect(await codeOf(proxy.upload(other, { ...last, path }))).toEqual([409, "upload_offset"]);
    const start = { ...last, headers: { "upload-offset": "0" } };
    expect(await codeOf(proxy.upload(other, { ...start, path }))).toEqual([409, "upload_offset"]);
  });

  test("case 73: takes a part once, also when it is sent five times at once", async () => {
    const { id } = (await (await proxy.upload(film.slice(0, PART), { headers: length })).json()) as Stored;
    const path = `/v1/uploads/${id}`;
    await Promise.all(Array.from({ length: 5 }, () => proxy.upload(film.slice(PART), { ...last, path })));
    const { url } = (await (await proxy.ask(path)).json()) as Stored;
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), film)).toBe(0);
  });

  test("case 73: of another user, or one that was deleted, takes no part", async () => {
    const { id } = (await (await proxy.upload(film.slice(0, PART), { headers: length })).json()) as Stored;
    const path = `/v1/uploads/${id}`;
    const rest = film.slice(PART);
    expect(await codeOf(proxy.upload(rest, { ...last, path, user: "user-2" }))).toEqual([404, "not_found"]);
    expect((await proxy.ask(path, { method: "DELETE" })).status).toBe(204);
    expect(await codeOf(proxy.upload(rest, { ...last, path }))).toEqual([404, "not_found"]);
  });
});
