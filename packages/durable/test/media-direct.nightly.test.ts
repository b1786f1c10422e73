import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { fileOf, PART, shareWorkerd, startMediaProxy, starts, statusOf } from "./support/media.js";
import { startS3 } from "./support/s3-server.js";

shareWorkerd(24);

/* Parts that a page puts into the bucket itself, by addresses that the proxy signs; over a real server of the S3 API. */

const MINUTE_MS = 60_000;
const film = fileOf(starts.mp4, 2 * PART + 1000);

let s3: Awaited<ReturnType<typeof startS3>>;
beforeEach(async () => {
  s3 = await startS3();
});
afterEach(() => s3.close());

/** The state of an upload, as the proxy says it. */
interface State {
  readonly id: string;
  readonly offset: number;
  readonly direct?: boolean;
  readonly partURL?: string;
  readonly url?: string;
  readonly error?: { readonly code: string };
}

async function openProxy(store: object = {}) {
  const { options } = s3;
  const proxy = await startMediaProxy({ s3: { ...options, pageEndpoint: options.endpoint }, ...store });
  onTestFinished(() => proxy.close());
  const patch = async (id: string, from: number, direct: string, user?: string) => {
    const headers = { "upload-offset": String(from), "upload-direct": direct };
    const answer = await proxy.ask(`/v1/uploads/${id}`, { method: "PATCH", headers, ...(user && { user }) });
    return { status: answer.status, state: (await answer.json()) as State };
  };
  return {
    ...proxy,
    sign: (id: string, from: number, user?: string) => patch(id, from, "sign", user),
    stored: (id: string, from: number, user?: string) => patch(id, from, "stored", user),
    /** Sends the first part through the proxy. */
    async begin(file = film) {
      const headers = { "upload-length": String(file.length) };
      const answer = await proxy.upload(file.slice(0, PART), { headers });
      expect(answer.status).toBe(201);
      return (await answer.json()) as State;
    },
  };
}

const put = async (url: string | undefined, body: BodyInit, init: RequestInit = {}) => {
  const answer = await fetch(url ?? "", { method: "PUT", body, ...init });
  return { status: answer.status, text: await answer.text() };
};

/** Reads a file, and compares it at once: a comparison that shows differences takes half a minute for megabytes. */
const isFileAt = async (url: string | undefined, ...parts: readonly Uint8Array[]) =>
  Buffer.from(await (await fetch(url ?? "")).arrayBuffer()).equals(Buffer.concat(parts));

describe("parts that go straight to the bucket", () => {
  test("make a whole file, with nothing to read before", async () => {
    const proxy = await openProxy();
    const { id, direct, offset } = await proxy.begin();
    expect([direct, offset]).toEqual([true, PART]);
    for (const from of [PART, 2 * PART]) {
      const { state } = await proxy.sign(id, from);
      expect(state).toMatchObject({ offset: from, direct: true });
      const part = film.slice(from, from + PART);
      expect((await put(state.partURL, part)).status).toBe(200);
      expect((await s3.bucket.list()).objects).toEqual([]);
      const { state: next } = await proxy.stored(id, from);
      expect(next.offset).toBe(from + part.length);
      if (from === 2 * PART) expect(await isFileAt(next.url, film)).toBe(true);
    }
    expect(proxy.events().map(({ outcome }) => outcome)).toEqual(["complete"]);
    await proxy.ask(`/v1/uploads/${id}`, { method: "DELETE" });
    expect(await s3.openBytes()).toBe(0);
  });

  test("mix with parts that go through the proxy", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    const { state } = await proxy.sign(id, PART);
    await put(state.partURL, film.slice(PART, 2 * PART));
    await proxy.stored(id, PART);
    const headers = { "upload-offset": String(2 * PART) };
    const sent = { path: `/v1/uploads/${id}`, method: "PATCH", headers };
    const whole = (await (await proxy.upload(film.slice(2 * PART), sent)).json()) as State;
    expect(await isFileAt(whole.url, film)).toBe(true);
  });

  test.each([
    ["refused 403", { code: "direct_refused", upstreamStatus: 403 }],
    ["unreachable", { code: "direct_unreachable" }],
    ["missing", { code: "direct_missing" }],
    ["unsigned", { code: "direct_unsigned" }],
  ])(
    "that the bucket did not take come through the proxy with the reason %s, which is an event",
    async (reason, told) => {
      const proxy = await openProxy();
      const { id } = await proxy.begin();
      const patch = (from: number, direct?: string) => {
        const headers = { "upload-offset": String(from), ...(direct && { "upload-direct": direct }) };
        const sent = { path: `/v1/uploads/${id}`, method: "PATCH", headers };
        return proxy.upload(film.slice(from, from + PART), sent);
      };
      expect((await patch(PART, reason)).status).toBe(200);
      const whole = (await (await patch(2 * PART)).json()) as State;
      expect(await isFileAt(whole.url, film)).toBe(true);
      const upload = { kind: "upload", id, user: "user-1", bytes: film.length };
      expect(proxy.events()).toMatchObject([
        { ...upload, outcome: "waiting", ...told },
        { ...upload, outcome: "complete" },
      ]);
    },
  );

  test("come through an instance whose bucket signs nothing with the reason, which is an event", async () => {
    const plain = await openProxy({ s3: s3.options });
    const { id } = await plain.begin();
    const headers = { "upload-offset": String(PART), "upload-direct": "unsigned" };
    const sent = { path: `/v1/uploads/${id}`, method: "PATCH", headers };
    expect((await plain.upload(film.slice(PART, 2 * PART), sent)).status).toBe(200);
    expect(plain.events()).toMatchObject([{ id, outcome: "waiting", code: "direct_unsigned" }]);
  });

  test.each(["refused", "refused 999", "refused 403 <b>", "elsewhere", "Sign"])(
    "with the reason %s are refused, and no event has it",
    async (reason) => {
      const proxy = await openProxy();
      const { id } = await proxy.begin();
      const headers = { "upload-offset": String(PART), "upload-direct": reason };
      const sent = { path: `/v1/uploads/${id}`, method: "PATCH", headers };
      expect((await proxy.upload(film.slice(PART, PART + 10), sent)).status).toBe(400);
      expect(proxy.events()).toEqual([]);
    },
  );

  test("are not offered by a bucket that signs nothing, nor for a file of one part", async () => {
    const plain = await openProxy({ s3: s3.options });
    const { id, direct } = await plain.begin();
    expect(direct).toBeUndefined();
    expect(await plain.sign(id, PART)).toMatchObject({
      status: 400,
      state: { error: { code: "no_direct_parts" } },
    });
    const proxy = await openProxy();
    const small = (await (await proxy.upload(fileOf(starts.png, 1000))).json()) as State;
    expect(small.direct).toBeUndefined();
    expect((await proxy.sign(small.id, 1000)).status).toBe(409);
  });
});

describe("case 260: an address that was signed for a part", () => {
  test("takes the exact bytes of that part alone, by PUT", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    const { state } = await proxy.sign(id, PART);
    const url = new URL(state.partURL ?? "");
    expect(Number(url.searchParams.get("X-Amz-Expires"))).toBe(300);
    expect(url.searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    const other = (change: (params: URLSearchParams) => void) => {
      const changed = new URL(url);
      change(changed.searchParams);
      return changed.href;
    };
    const before = await s3.openBytes();
    for (const [address, size] of [
      [url.href, PART + 1],
      [url.href, PART - 1],
      [other((params) => params.set("partNumber", "1")), PART],
      [other((params) => params.set("partNumber", "3")), PART],
      [other((params) => params.delete("partNumber")), PART],
      [other((params) => params.set("X-Amz-Expires", "86400")), PART],
    ] as const)
      expect((await put(address, new Uint8Array(size))).status).toBe(403);
    for (const method of ["GET", "DELETE", "POST"]) expect(await statusOf(url, { method })).toBe(403);
    expect(await s3.openBytes()).toBe(before);
  });

  test("ends after minutes, and before its upload does", async () => {
    const proxy = await openProxy({ unfinishedMs: 20_000 });
    const { id } = await proxy.begin();
    const { state } = await proxy.sign(id, PART);
    expect(new URL(state.partURL ?? "").searchParams.get("X-Amz-Expires")).toBe("10");
    const part = film.slice(PART, 2 * PART);
    await expect
      .poll(() => put(state.partURL, part), { timeout: 50_000, interval: 1000 })
      .toMatchObject({ status: 403, text: expect.stringContaining("expired") });
  });

  test("is for the owner of the upload, and never for its first part, which decides the type", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    expect((await proxy.sign(id, PART, "user-2")).status).toBe(404);
    expect((await proxy.stored(id, PART, "user-2")).status).toBe(404);
    expect((await proxy.sign(id, 0)).status).toBe(409);
    expect((await proxy.sign(id, 2 * PART)).status).toBe(409);
  });

  test("has no secret of the bucket or the gateway, and is in no log and no event", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    const { state } = await proxy.sign(id, PART);
    const names = [...new URL(state.partURL ?? "").searchParams.keys()];
    expect(names.filter((name) => !name.startsWith("X-Amz-"))).toEqual(["partNumber", "uploadId"]);
    expect(state.partURL).not.toContain(KEY);
    expect(proxy.logs.join("\n")).not.toContain("X-Amz");
  });
});

describe("case 261: the bytes that are in the bucket", () => {
  test("are never more than those that are counted, however often an address is used", async () => {
    const proxy = await openProxy({ userBytes: film.length });
    const { id } = await proxy.begin();
    const { state } = await proxy.sign(id, PART);
    const again = await proxy.sign(id, PART);
    const part = film.slice(PART, 2 * PART);
    await Promise.all([state.partURL, state.partURL, again.state.partURL].map((url) => put(url, part)));
    expect(await s3.openBytes()).toBe(2 * PART);
    // the space of the whole file is taken since its first byte
    expect((await proxy.upload(fileOf(starts.png, 10))).status).toBe(413);
    const [one, other] = await Promise.all([proxy.stored(id, PART), proxy.stored(id, PART)]);
    expect([one.status, other.status].sort()).toEqual([200, 409]);
  });

  test("are looked at before a part counts: one that is not there, or elsewhere, is refused", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    expect(await proxy.stored(id, PART)).toMatchObject({
      status: 409,
      state: { error: { code: "part_missing" } },
    });
    // the refusal has let go of the part
    const { state } = await proxy.sign(id, PART);
    expect(state.offset).toBe(PART);
    expect(await proxy.stored(id, 2 * PART)).toMatchObject({
      status: 409,
      state: { error: { code: "upload_offset" } },
    });
  });

  test("may be put anew after they were noted, and the file is whole with the last ones", async () => {
    const proxy = await openProxy();
    const { id } = await proxy.begin();
    const first = (await proxy.sign(id, PART)).state.partURL;
    await put(first, film.slice(PART, 2 * PART));
    await proxy.stored(id, PART);
    const other = fileOf([7], PART);
    expect((await put(first, other)).status).toBe(200);
    const last = (await proxy.sign(id, 2 * PART)).state.partURL;
    await put(last, film.slice(2 * PART));
    const { state } = await proxy.stored(id, 2 * PART);
    const file = [film.slice(0, PART), other, film.slice(2 * PART)];
    expect(await isFileAt(state.url, ...file)).toBe(true);
    // the file is whole, and nothing changes it any more
    expect((await put(first, other)).status).toBe(404);
    expect((await put(last, film.slice(2 * PART))).status).toBe(404);
    expect(await isFileAt(state.url, ...file)).toBe(true);
  });

  test("are deleted with their upload, by its user and by time, and an address finds none then", async () => {
    const proxy = await openProxy();
    const begun = await proxy.begin();
    const { state } = await proxy.sign(begun.id, PART);
    await put(state.partURL, film.slice(PART, 2 * PART));
    expect((await proxy.ask(`/v1/uploads/${begun.id}`, { method: "DELETE" })).status).toBe(204);
    expect(await s3.openBytes()).toBe(0);
    expect((await put(state.partURL, film.slice(PART, 2 * PART))).status).toBe(404);
    expect((await proxy.stored(begun.id, PART)).status).toBe(404);
  });

  test("are deleted again once no address can be in use any more: one may have been, while its upload was ended", async () => {
    const proxy = await openProxy({ unfinishedMs: 1500 });
    const { id } = await proxy.begin();
    await proxy.sign(id, PART);
    // by an alarm
    await expect
      .poll(() => proxy.events().map(({ outcome }) => outcome), { timeout: 50_000 })
      .toEqual(["dropped"]);
    expect(await s3.openBytes()).toBe(0);
    const ends = async () => Number((await proxy.operations())["resumeMultipartUpload"]);
    const before = await ends();
    await proxy.operate("erase");
    expect(await ends()).toBe(before);
    // an address works for five minutes at most, and a request for fifteen
    await proxy.pass(17 * MINUTE_MS);
    await proxy.operate("erase");
    expect(await ends()).toBeGreaterThan(before);
  });

  test("are deleted with a user that is erased", async () => {
    const proxy = await openProxy();
    const idle = await proxy.begin();
    const { partURL } = (await proxy.sign(idle.id, PART)).state;
    await put(partURL, film.slice(PART, 2 * PART));
    expect(await s3.openBytes()).toBe(2 * PART);
    await proxy.pass(10 * MINUTE_MS + 1);
    expect((await proxy.sign(idle.id, PART)).status).toBe(404);
    await proxy.operate("erase");
    expect(await s3.openBytes()).toBe(0);
    expect(await s3.bucket.list()).toMatchObject({ objects: [] });
  });
});
