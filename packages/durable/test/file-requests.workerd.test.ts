import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import proxy from "./fixture/host-worker.js";
import { gateway, task } from "./support/durable-gateway.js";

/* Requests for files over R2 and Durable Objects. */

const PART_BYTES = 8_388_608;
const MP4 = [0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d];
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function createFile(start: readonly number[], bytes: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 997) file[at] = at & 0x7f;
  file.set(start);
  return file;
}

interface RequestFields {
  readonly method?: string;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
}

async function sendRequest(
  path: string,
  { user = "files", headers, ...init }: RequestFields = {},
): Promise<Response> {
  const behind: Promise<unknown>[] = [];
  const request = new Request(new URL(path, "https://app.example"), {
    ...init,
    headers: { ...(user && { authorization: user }), ...headers },
  });
  const context = { waitUntil: (work: Promise<unknown>) => void behind.push(work) };
  const response = await proxy.fetch(request, env as never, context);
  await Promise.all(behind);
  return response;
}

const upload = (body: Uint8Array<ArrayBuffer>, headers = {}, path = "/v1/uploads", method = "POST") =>
  sendRequest(path, {
    method,
    body,
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(body.length),
      ...headers,
    },
  });

interface State {
  readonly id: string;
  readonly url: string;
  readonly bytes: number;
  readonly taskId?: string;
}

const readBytes = async (response: Response) => new Uint8Array(await response.arrayBuffer());
const isSame = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

test("R2 stores a file in parts, each part once, and gives it back until it is deleted (case 73)", async () => {
  const whole = createFile(MP4, PART_BYTES + 1000);
  const begun = await upload(whole.slice(0, PART_BYTES), { "upload-length": String(whole.length) });
  const { id } = (await begun.json()) as State;
  const path = `/v1/uploads/${id}`;
  const sendLast = async () => {
    const response = await upload(
      whole.slice(PART_BYTES),
      { "upload-offset": String(PART_BYTES) },
      path,
      "PATCH",
    );
    await response.text();
    return response.status;
  };
  const sent = await Promise.all([sendLast(), sendLast(), sendLast()]);
  expect(sent.sort()).toEqual([200, 409, 409]);
  const { url } = (await (await sendRequest(path)).json()) as State;
  expect(isSame(await readBytes(await sendRequest(url, { user: "" })), whole)).toBe(true);
  expect((await sendRequest(path, { method: "DELETE" })).status).toBe(204);
  expect((await sendRequest(url, { user: "" })).status).toBe(404);
});

test("uploads at once take no more than a user's space in R2 (case 72)", async () => {
  const large = createFile(MP4, 8_000_000);
  const send = async () => {
    const response = await upload(large, { authorization: "full" });
    await response.text();
    return response.status;
  };
  const statuses = await Promise.all([send(), send(), send(), send(), send()]);
  expect(statuses.sort()).toEqual([201, 201, 201, 413, 413]);
});

test("results are copied into R2 in a Durable Object, with and without a length", async () => {
  const long = createFile(MP4, PART_BYTES + 1000);
  const short = createFile(PNG, 200_000);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url) =>
    String(url).endsWith("/long")
      ? new Response(new Blob([long]).stream())
      : new Response(short, { headers: { "content-length": String(short.length) } }),
  );
  const list = async () =>
    ((await (await sendRequest("/v1/uploads", { user: "archive" })).json()) as { files: State[] }).files;
  for (const name of ["long", "short"]) {
    gateway.respondWith(({ method }) =>
      method === "POST"
        ? Response.json({ id: name, status: "queued" })
        : task("SUCCESS", { task_id: name, result_url: `https://cdn.example.com/${name}` }),
    );
    const body = new TextEncoder().encode(
      JSON.stringify({ model: "beta3.0-video", input: { prompt: "a reef" } }),
    );
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    const created = await sendRequest("/v1/video/generations", {
      method: "POST",
      body,
      headers,
      user: "archive",
    });
    const { id } = (await created.json()) as State;
    expect((await sendRequest(`/v1/video/generations/${id}`, { user: "archive" })).status).toBe(200);
  }
  await expect.poll(async () => (await list()).filter(({ url }) => url).length).toBe(2);
  for (const { bytes, url } of await list()) {
    const copy = await readBytes(await sendRequest(url, { user: "" }));
    expect(isSame(copy, bytes === short.length ? short : long)).toBe(true);
  }
  vi.restoreAllMocks();
});

describe("a link (case 122)", () => {
  let url = "";
  let etag = "";
  beforeAll(async () => {
    url = ((await (await upload(createFile(PNG, 1000))).json()) as State).url;
    etag = (await sendRequest(url, { method: "HEAD", user: "" })).headers.get("etag") ?? "";
  });
  const read = async (headers: Record<string, string>, method = "GET") => {
    const response = await sendRequest(url, { method, headers, user: "" });
    const { length } = await readBytes(response);
    return [response.status, length, response.headers.get("content-range")];
  };
  const whole = [200, 1000, null];

  test.each([
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=5-2",
    "bytes=a-b",
    "bytes=1-2,4-5",
    "bytes=0-0,-1",
    "items=0-4",
    "bytes=0x1-5",
    "bytes=+1-5",
    "bytes=-1-5",
    "bytes=1-5x",
    "bytes 1-5",
    "0-5",
    "bytes=1.5-3",
    "bytes=\u0661-5",
  ])("gives the whole file for a range that is none: %s", async (range) => {
    expect(await read({ range: encodeURI(range) })).toEqual(whole);
  });

  test.each([
    ["bytes=0-0", 1, "bytes 0-0/1000"],
    ["BYTES=10-19", 10, "bytes 10-19/1000"],
    ["bytes=990-", 10, "bytes 990-999/1000"],
    ["bytes=990-99999999999999999999999", 10, "bytes 990-999/1000"],
    ["bytes=0-999", 1000, "bytes 0-999/1000"],
    ["bytes=-1", 1, "bytes 999-999/1000"],
    ["bytes=-1000", 1000, "bytes 0-999/1000"],
    ["bytes=-99999999999999999999999", 1000, "bytes 0-999/1000"],
  ])("gives a range: %s", async (range, bytes, contentRange) => {
    expect(await read({ range })).toEqual([206, bytes, contentRange]);
  });

  test.each(["bytes=1000-", "bytes=1000-1001", "bytes=99999999999999999999999-", "bytes=-0"])(
    "says where the file ends for a range beyond it: %s",
    async (range) => {
      const [status, , contentRange] = await read({ range });
      expect([status, contentRange]).toEqual([416, "bytes */1000"]);
    },
  );

  test("continues for a page that holds the start of the file, not of another file", async () => {
    expect(await read({ "if-range": etag, range: "bytes=5-9" })).toEqual([206, 5, "bytes 5-9/1000"]);
    for (const tag of ['"other"', `W/${etag}`, "zzz", new Date().toUTCString()])
      expect(await read({ "if-range": tag, range: "bytes=5-9" })).toEqual(whole);
  });
});

describe("an upload (case 122)", () => {
  const odd = ["", "1e3", "-1", "+5", "0x10", "1.5", "5, 6", "9".repeat(20), "ten"];

  test.each([...odd, "0"])("is refused with the reason for an invalid upload-length: %s", async (length) => {
    const response = await upload(createFile(PNG, 1000), { "upload-length": length });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("upload-length: send a whole number"),
    ]);
  });

  test("is refused with the reason for an invalid upload-offset, and continues at the right one", async () => {
    const file = createFile(MP4, PART_BYTES + 1000);
    const begun = await upload(file.slice(0, PART_BYTES), { "upload-length": String(file.length) });
    const path = `/v1/uploads/${((await begun.json()) as State).id}`;
    for (const headers of [{}, ...odd.map((offset) => ({ "upload-offset": offset }))]) {
      const response = await upload(file.slice(PART_BYTES), headers, path, "PATCH");
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining("upload-offset: send a whole number"),
      ]);
    }
    expect(
      (await upload(file.slice(PART_BYTES), { "upload-offset": String(PART_BYTES) }, path, "PATCH")).status,
    ).toBe(200);
    await sendRequest(path, { method: "DELETE" });
  });
});
