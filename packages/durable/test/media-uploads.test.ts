import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileOf, PART, shareWorkerd, startMediaProxy, starts, statusOf } from "./support/media.js";

shareWorkerd(1);

let proxy: Awaited<ReturnType<typeof startMediaProxy>>;

beforeAll(async () => {
  proxy = await startMediaProxy();
});
afterAll(() => proxy.close());

const png = fileOf(starts.png, 1000);

/** The answer to an upload that worked. */
async function uploaded(...sent: Parameters<typeof proxy.upload>) {
  const response = await proxy.upload(...sent);
  const text = await response.text();
  expect([response.status, text]).toEqual([expect.toSatisfy((status) => status < 300), expect.any(String)]);
  return JSON.parse(text) as { id: string; url: string; offset: number; expiresAt: number; type?: string };
}

async function codeOf(response: Response | Promise<Response>): Promise<readonly [number, string]> {
  const { status, text } = await (async () => {
    const answer = await response;
    return { status: answer.status, text: await answer.text() };
  })();
  return [status, (JSON.parse(text) as { error: { code: string } }).error.code];
}

const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());

describe("a file", () => {
  test("is stored with the type of its bytes, and its link gives it back to everyone", async () => {
    const { url, type, expiresAt, id } = await uploaded(png);
    expect(type).toBe("image/png");
    expect(expiresAt).toBeGreaterThan(Date.now());
    const got = await fetch(url);
    expect(await bytesOf(got)).toEqual(png);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": "1000",
      "x-content-type-options": "nosniff",
      "content-disposition": `inline; filename="${id.slice(0, 8)}.png"`,
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": expect.stringMatching(/^private, max-age=\d{4,}, immutable$/),
      "accept-ranges": "bytes",
    });
  });

  test("can be read in ranges, asked about by HEAD, and kept by its etag", async () => {
    const { url } = await uploaded(png);
    const part = await fetch(url, { headers: { range: "bytes=10-19" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 10-19/1000"]);
    expect(await bytesOf(part)).toEqual(png.slice(10, 20));
    const end = await fetch(url, { headers: { range: "bytes=-5" } });
    expect([end.headers.get("content-range"), await bytesOf(end)]).toEqual([
      "bytes 995-999/1000",
      png.slice(995),
    ]);
    const beyond = await fetch(url, { headers: { range: "bytes=5000-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */1000"]);
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "1000"]);
    const kept = await fetch(url, { headers: { "if-none-match": head.headers.get("etag") ?? "" } });
    expect([kept.status, await kept.text()]).toEqual([304, ""]);
  });

  test("has the same link for a while, and a new one for its owner alone", async () => {
    const { id, url } = await uploaded(png);
    const again = await (await proxy.ask(`/v1/uploads/${id}`)).json();
    expect(again).toMatchObject({ id, url, bytes: 1000, offset: 1000 });
    expect((await proxy.ask(`/v1/uploads/${id}`, { user: "user-2" })).status).toBe(404);
  });

  test("is deleted by its owner alone", async () => {
    const { id, url } = await uploaded(png);
    const path = `/v1/uploads/${id}`;
    expect((await proxy.ask(path, { method: "DELETE", user: "user-2" })).status).toBe(404);
    expect(await statusOf(url)).toBe(200);
    expect((await proxy.ask(path, { method: "DELETE" })).status).toBe(204);
    expect([await statusOf(url), (await proxy.ask(path)).status]).toEqual([404, 404]);
  });

  test("needs a sign-in, a length, and a type that no form can send", async () => {
    const sent = (headers: Record<string, string>) =>
      statusOf(new URL("/v1/uploads", proxy.url), { method: "POST", body: png, headers });
    expect(await sent({ "content-type": "application/octet-stream" })).toBe(401);
    expect(await sent({ authorization: "user-1", "content-type": "text/plain" })).toBe(415);
    const body = new Blob([png]).stream();
    const chunked = {
      method: "POST",
      body,
      duplex: "half",
      headers: { "content-type": "application/octet-stream" },
    };
    expect((await proxy.ask("/v1/uploads", chunked as object)).status).toBe(411);
    const origin = { origin: "https://evil.example" };
    expect((await proxy.upload(png, { headers: origin })).status).toBe(403);
  });
});

describe("a file in parts", () => {
  const film = fileOf(starts.mp4, 2 * PART + 1000);
  const length = { "upload-length": String(film.length) };

  test("goes on where it was cut, and is whole at its last part", async () => {
    const begun = await uploaded(film.slice(0, PART), { headers: length });
    expect(begun).toMatchObject({ offset: PART });
    expect(begun.url).toBeUndefined();
    const path = `/v1/uploads/${begun.id}`;
    const next = { path, method: "PATCH" };
    // the connection breaks in the middle of the second part
    const cut = new AbortController();
    const half = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(film.slice(PART, PART + 100_000)),
    });
    const headers = { "content-type": "application/octet-stream", "upload-offset": `${PART}` };
    const broken = proxy.ask(path, {
      method: "PATCH",
      body: half,
      duplex: "half",
      signal: cut.signal,
      headers,
    } as object);
    cut.abort();
    await expect(broken).rejects.toThrow();
    expect(await (await proxy.ask(path)).json()).toMatchObject({ offset: PART });

    const second = film.slice(PART, 2 * PART);
    expect(await uploaded(second, { ...next, headers: { "upload-offset": `${PART}` } })).toMatchObject({
      offset: 2 * PART,
    });
    // a part that was answered into a broken connection is not stored twice; the refusal comes before the body is read, so
    // that a long one would meet a closed connection
    const start = second.slice(0, 1000);
    expect(await codeOf(proxy.upload(start, { ...next, headers: { "upload-offset": `${PART}` } }))).toEqual([
      409,
      "upload_offset",
    ]);
    const { url, type } = await uploaded(film.slice(2 * PART), {
      ...next,
      headers: { "upload-offset": `${2 * PART}` },
    });
    expect(type).toBe("video/mp4");
    expect(Buffer.compare(await bytesOf(await fetch(url)), film)).toBe(0);
  });

  test("takes parts of one size alone, of its owner alone", async () => {
    expect(await codeOf(proxy.upload(film.slice(0, 1000), { headers: length }))).toEqual([400, "part_size"]);
    const { id } = await uploaded(film.slice(0, PART), { headers: length });
    const next = { path: `/v1/uploads/${id}`, method: "PATCH", headers: { "upload-offset": `${PART}` } };
    expect(await codeOf(proxy.upload(film.slice(0, 1000), next))).toEqual([400, "part_size"]);
    expect(await codeOf(proxy.upload(film.slice(0, 1000), { ...next, user: "user-2" }))).toEqual([
      404,
      "not_found",
    ]);
  });
});
