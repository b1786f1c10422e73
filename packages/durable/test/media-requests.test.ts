import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fileOf, holdPart, PART, shareWorkerd, startMediaProxy, starts } from "./support/media.js";
import { startArchive } from "./support/media-gateway.js";

shareWorkerd(4);

/* Requests for files that are odd, slow or late, over sockets. */

const MINUTE_MS = 60_000;
const png = fileOf(starts.png, 1000);
let proxy: Awaited<ReturnType<typeof startArchive>>;

beforeAll(async () => {
  proxy = await startArchive({}, { bodyMs: 400 });
});
afterAll(() => proxy.close());

/** Sends the start of a request, and then nothing, or a byte now and again. Resolves with the answer. */
function begun(path: string, headers: Record<string, string>, start: string, more = ""): Promise<string> {
  const { hostname, port, host } = new URL(proxy.url);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ host, authorization: "user-1", connection: "close", ...headers });
  socket.write(
    `POST ${path} HTTP/1.1\r\n${lines.map((line) => line.join(": ")).join("\r\n")}\r\n\r\n${start}`,
    "latin1",
  );
  let text = "";
  // a byte behind the answer would reset the connection, and what was not read yet would be lost: so it is read first
  const write = () => text || socket.write(more);
  const trickle = setInterval(() => setImmediate(write), 50);
  return new Promise((resolve) => {
    socket.setEncoding("latin1").on("data", (data) => {
      text += data;
      // an answer with its body
      if (text.endsWith("}")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(trickle);
      resolve(text);
    });
  });
}

describe("case 121: a request that does not arrive", () => {
  const bytes = { "content-type": "application/octet-stream" };

  test.each([1, 511, 513])(
    "after %i bytes of a file is ended at its deadline, and holds no space",
    async (sent) => {
      const start = "\x89PNG\r\n\x1a\n".padEnd(sent, "x").slice(0, sent);
      const headers = { ...bytes, "content-length": "100000" };
      for (const more of ["", " "]) {
        const answer = await begun("/v1/uploads", headers, start, more);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        expect(answer).toContain("upload_cut");
      }
      expect(await proxy.keys()).toEqual([]);
    },
  );

  test("A request with names of copies that does not arrive is ended at its deadline", async () => {
    const headers = { "content-type": "application/json", "content-length": "20000" };
    for (const more of ["", " "]) {
      const answer = await begun("/v1/archive", headers, '{"tasks":[', more);
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain("body_timeout");
    }
  });
});

test("case 177: a body that is refused while it comes gets its answer, and ends no server", async () => {
  for (const bytes of [100, 1000, 20_000, 1000]) {
    const headers = { "upload-length": String(2 * PART) };
    const answer = await proxy.upload(fileOf(starts.mp4, bytes), { headers });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("part_size")]);
  }
});

describe("case 122: a link", () => {
  let url = "";
  let etag = "";
  beforeAll(async () => {
    url = ((await (await proxy.upload(png)).json()) as { url: string }).url;
    etag = (await fetch(url, { method: "HEAD" })).headers.get("etag") ?? "";
  });
  const asked = async (headers: Record<string, string>, method = "GET") => {
    const answer = await fetch(url, { method, headers });
    const bytes = (await answer.arrayBuffer()).byteLength;
    return [answer.status, bytes, answer.headers.get("content-range")];
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
  ])("is read as a whole where its range is none: %s", async (range) => {
    expect(await asked({ range: encodeURI(range) })).toEqual(whole);
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
  ])("is read in a range: %s", async (range, bytes, said) => {
    expect(await asked({ range })).toEqual([206, bytes, said]);
  });

  test.each(["bytes=1000-", "bytes=1000-1001", "bytes=99999999999999999999999-", "bytes=-0"])(
    "says where it ends where a range lies beyond: %s",
    async (range) => {
      const [status, , said] = await asked({ range });
      expect([status, said]).toEqual([416, "bytes */1000"]);
    },
  );

  test.each(['"', "zzz", "", '""', 'W/"', "W/zzz", ",", '"a" "b"', "\\", '"zzz', "W/*", "**"])(
    "is no fault of the bucket for a condition that is none: %s",
    async (tag) => {
      expect(await asked({ "if-none-match": tag })).toEqual(whole);
      expect([200, 412]).toContain((await asked({ "if-match": tag }))[0]);
    },
  );

  test("has not changed for a page that has it, by one tag, a list, a weak one or a star", async () => {
    for (const tag of [etag, `"a", ${etag}`, `W/${etag}`, `"a,b",${etag},"c"`, "*"])
      for (const more of [{}, { range: "bytes=5000-" }, { "if-match": etag }])
        expect(await asked({ "if-none-match": tag, ...more })).toEqual([304, 0, null]);
    expect(await asked({ "if-none-match": etag }, "HEAD")).toEqual([304, 0, null]);
    expect(await asked({ "if-none-match": '"other"' })).toEqual(whole);
  });

  test("is given to a page that has its start, and not where it has the start of another file", async () => {
    for (const tag of [etag, `"a", ${etag}`, "*"])
      expect(await asked({ "if-match": tag, range: "bytes=5-9" })).toEqual([206, 5, "bytes 5-9/1000"]);
    for (const tag of ['"other"', `W/${etag}`]) expect((await asked({ "if-match": tag }))[0]).toBe(412);
    expect(await asked({ "if-range": etag, range: "bytes=5-9" })).toEqual([206, 5, "bytes 5-9/1000"]);
    for (const tag of ['"other"', `W/${etag}`, "zzz", new Date().toUTCString()])
      expect(await asked({ "if-range": tag, range: "bytes=5-9" })).toEqual(whole);
  });

  test("writes no line into the log by anything that its holder asks", () => {
    expect(proxy.logs.filter((line) => line.includes("sluice proxy"))).toEqual([]);
  });
});

describe("case 122: an upload", () => {
  test.each(["", "1e3", "-1", "+5", "0x10", "1.5", "0", "5, 6", "9".repeat(20), "ten"])(
    "whose upload-length is no number is told so: %s",
    async (length) => {
      const answer = await proxy.upload(png, { headers: { "upload-length": length } });
      const { error } = (await answer.json()) as { error: { message: string; code: string } };
      expect([answer.status, error.message]).toEqual([400, expect.stringContaining("upload-length")]);
    },
  );

  test("An upload whose upload-offset is none is told so, and goes on", async () => {
    const own = await startMediaProxy();
    onTestFinished(() => own.close());
    const whole = fileOf(starts.mp4, PART + 1000);
    const headers = { "upload-length": String(whole.length) };
    const { id } = (await (await own.upload(whole.slice(0, PART), { headers })).json()) as { id: string };
    const sent = { path: `/v1/uploads/${id}`, method: "PATCH" };
    const offsets = ["", "1e3", "-1", "+5", "5, 6", "9".repeat(20)];
    for (const headers of [{}, ...offsets.map((offset) => ({ "upload-offset": offset }))]) {
      const answer = await own.upload(whole.slice(PART), { ...sent, headers });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("upload-offset")]);
    }
    const last = { headers: { "upload-offset": String(PART) } };
    expect((await own.upload(whole.slice(PART), { ...sent, ...last })).status).toBe(200);
  });
});

test.each([
  ["was completed meanwhile by another request", 409, "upload_offset"],
  ["was deleted meanwhile", 404, "not_found"],
] as const)("case 122: a part of an upload that %s is no fault of the bucket", async (end, status, code) => {
  const own = await startMediaProxy();
  onTestFinished(() => own.close());
  const whole = fileOf(starts.mp4, 2 * PART);
  const first = await own.upload(whole.slice(0, PART), {
    headers: { "upload-length": String(whole.length) },
  });
  const path = `/v1/uploads/${((await first.json()) as { id: string }).id}`;
  const last = whole.slice(PART);
  const late = await holdPart(own, path, last, PART).held();
  if (status === 404) expect((await own.ask(path, { method: "DELETE" })).status).toBe(204);
  else {
    // the claim of a sender without a word ends
    await own.pass(6 * MINUTE_MS + 1);
    expect(
      (await own.upload(last, { path, method: "PATCH", headers: { "upload-offset": String(PART) } })).status,
    ).toBe(200);
  }
  late.finish();
  const answer = await late.answer;
  const { error } = (await answer.json()) as { error: { code: string } };
  expect([answer.status, error.code], end).toEqual([status, code]);
  expect(own.logs.filter((line) => line.includes("sluice proxy"))).toEqual([]);
});
