import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createRecorder,
  createReplay,
  type Recording,
  readRecordings,
  writeRecording,
} from "@sluice/emulator/recordings";
import { serve } from "@sluice/emulator/serve";
import { afterEach, describe, expect, test } from "vitest";
import { createFastEmulator, createLeapingClock, createRequest, KEY, readFrames, send } from "./support.js";

type Handler = Parameters<typeof serve>[0];
type Replay = ReturnType<typeof createReplay>;
type ReplayOptions = Parameters<typeof createReplay>[0];
type NamedRecording = ReplayOptions["recordings"][number];
type RecordedExchange = Parameters<NonNullable<ReplayOptions["onEnd"]>>[0];

/* Exchanges are recorded through real sockets: a client, the recorder, and a gateway behind it. */

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(handler: Handler): Promise<string> {
  const { url, close } = await serve(handler, { port: 0 });
  closing.push(close);
  return url;
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-recordings-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Starts a recorder in front of a gateway. `readDisk` returns everything on the disk, file names included. */
async function startRecorder(gateway: Handler, folder = createFolder()) {
  const ended: RecordedExchange[] = [];
  const options = {
    gateway: await start(gateway),
    save: (recording: Recording) => writeRecording(folder, recording),
    onEnd: (exchange: RecordedExchange) => void ended.push(exchange),
  };
  const url = await start(createRecorder(options));
  const readDisk = () =>
    readdirSync(folder)
      .map((name) => name + readFileSync(join(folder, name), "utf8"))
      .join("\n");
  const fetchDirectly = (path: string, init?: RequestInit) => fetch(options.gateway + path, init);
  return {
    ended,
    folder,
    readDisk,
    fetchDirectly,
    fetch: (path: string, init?: RequestInit) => fetch(url + path, init),
  };
}

/** Creates a POST request with JSON and the key. */
const createInit = (body: object): RequestInit => ({
  method: "POST",
  headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
  body: JSON.stringify(body),
});

function replayFolder(folder: string, options: Partial<ReplayOptions> = {}) {
  const replay = createReplay({ recordings: readRecordings(folder), speed: Infinity, ...options });
  const play = (path: string, init?: RequestInit) =>
    replay.fetch(new Request(`https://replay.test${path}`, init));
  return { ...replay, play };
}

describe("a recorded exchange", () => {
  test("is passed on unchanged, and replayed with the same status, headers and bytes", async () => {
    const { folder, ...recorder } = await startRecorder(createFastEmulator());
    const stream = createInit(createRequest("Tell me about tea", { stream: true }));
    const sent = await (await recorder.fetch("/v1/chat/completions", stream)).text();
    expect(sent).toMatch(/^data: \{.*\n\ndata: \[DONE\]\n\n$/s);
    const whole = createInit(createRequest("hi"));
    const body = await (await recorder.fetch("/v1/chat/completions", whole)).text();
    const refused = await recorder.fetch(
      "/v1/chat/completions",
      createInit(createRequest("hi", { max_tokens: 0 })),
    );
    const refusal = await refused.text();

    const { play, unused } = replayFolder(folder);
    const streamed = await play("/v1/chat/completions", stream);
    expect(streamed.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(await streamed.text()).toBe(sent);
    expect(await (await play("/v1/chat/completions", whole)).text()).toBe(body);
    expect(unused()).toEqual(["0003-post-v1-chat-completions.json"]);
    const again = await play("/v1/chat/completions", createInit(createRequest("hi", { max_tokens: 0 })));
    expect([again.status, await again.text()]).toEqual([400, refusal]);
    expect(unused()).toEqual([]);
  });

  test("is broken where the gateway broke it", async () => {
    const { folder, ...recorder } = await startRecorder(createFastEmulator());
    const init = createInit(createRequest("hi [[drop]]", { stream: true, model: "gamma-chat-1-6-251015" }));
    const { frames, failure } = await readFrames(await recorder.fetch("/v1/chat/completions", init));
    expect(failure).toBeInstanceOf(TypeError);
    expect(readRecordings(folder)[0]?.recording.response.end).toBe("broken");
    const replayed = await readFrames(await replayFolder(folder).play("/v1/chat/completions", init));
    expect(replayed.frames).toEqual(frames);
    expect(replayed.failure).toBeInstanceOf(TypeError);
  });

  test("is readable JSON: one field or one event per line", async () => {
    const { ...recorder } = await startRecorder(createFastEmulator());
    await (
      await recorder.fetch("/v1/chat/completions", createInit(createRequest("hi", { stream: true })))
    ).text();
    expect(recorder.readDisk()).toMatch(
      /"path": "\/v1\/chat\/completions",\n {4}"body": \{\n {6}"model": "alpha-v4\.1-flash",/,
    );
    expect(recorder.readDisk()).toMatch(/"events": \[\n {6}\{"afterMs":\d+,"data":\{"id":"chatcmpl-/);
    expect(recorder.readDisk()).toMatch(/\n {6}\{"afterMs":\d+,"text":"data: \[DONE\]\\n\\n"\}\n {4}\]\n/);
  });

  test("gets the next number of its folder", async () => {
    const { folder, ...first } = await startRecorder(createFastEmulator());
    await (await first.fetch("/v1/chat/completions", createInit(createRequest("hi")))).text();
    const second = await startRecorder(createFastEmulator(), folder);
    await (await second.fetch("/v1/video/generations/task-1")).text();
    expect(readdirSync(folder)).toEqual([
      "0001-post-v1-chat-completions.json",
      "0002-get-v1-video-generations-task-1.json",
    ]);
  });

  test("A recorded form has the names of its files, and the gateway gets the files", async () => {
    const gateway = createFastEmulator();
    const { readDisk, ...recorder } = await startRecorder(gateway);
    const form = new FormData();
    const fields = { model: "gamma-asset", GroupId: "g", Name: "Castle", AssetType: "Image" };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("URL", new File(["canary of the file"], "castle.png", { type: "image/png" }));
    const init = { method: "POST", headers: { authorization: `Bearer ${KEY}` }, body: form };
    expect((await recorder.fetch("/gamma/asset/CreateAsset", init)).status).toBe(200);
    expect(gateway.requests[0]?.body).toMatchObject({ URL: { name: "castle.png", size: 18 } });
    expect(readDisk()).toContain('"name": "castle.png"');
    expect(readDisk()).not.toContain("canary");
  });

  test("An exchange of a file is passed on, and not recorded", async () => {
    const png = new Uint8Array([137, 80, 78, 71]);
    const headers = { "content-type": "image/png" };
    const { readDisk, ended, ...recorder } = await startRecorder({
      fetch: async () => new Response(png, { headers }),
    });
    const response = await recorder.fetch("/files/a.png");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(png);
    expect(readDisk()).toBe("");
    expect(ended[0]?.note).toBe("not recorded: image/png");
  });

  test("An exchange with a gateway that can't be reached is not recorded", async () => {
    const recorder = createRecorder({
      gateway: "https://name:canary-password@gateway.test",
      save: () => expect.fail("a recording was saved"),
      fetch: async () => Promise.reject(new TypeError("fetch failed")),
    });
    const response = await recorder.fetch(new Request("https://recorder.test/v1/chat/completions"));
    expect(response.status).toBe(502);
    expect(await response.text()).toMatch(/can't reach the gateway/);
  });
});

describe("a secret is never on the disk", () => {
  const CANARY = "canary-0123456789abcdef";
  const authorized = { authorization: `Bearer ${CANARY}`, "content-type": "application/json" };

  /** Records one exchange with a gateway that responds with `respond`. Returns everything on the disk. */
  async function recordExchange(
    respond: () => Response,
    path = "/v1/chat/completions",
    init: RequestInit = {},
  ) {
    const { readDisk, ...recorder } = await startRecorder({ fetch: async () => respond() });
    const request = { method: "POST", headers: authorized, body: "{}", ...init };
    await (await recorder.fetch(path, request)).text().catch(() => {});
    expect(readDisk()).toContain('"version": 1');
    return readDisk();
  }
  const createResponse =
    (body: string, headers: HeadersInit = { "content-type": "application/json" }) =>
    () =>
      new Response(body, { headers });
  const fine = createResponse("{}");

  /** Creates a stream of exactly these chunks. */
  const createStream =
    (...pieces: (string | Uint8Array<ArrayBuffer>)[]) =>
    () => {
      const encoder = new TextEncoder();
      const body = new ReadableStream({
        async pull(controller) {
          const piece = pieces.shift();
          if (piece === undefined) return controller.close();
          controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
  const toFrame = (delta: object, index = 0) =>
    `data: ${JSON.stringify({ choices: [{ index, delta }] })}\n\n`;
  const cutInHalves = (text: string) =>
    [text.slice(0, text.length / 2), text.slice(text.length / 2)] as const;

  test.each([
    ["authorization", `Bearer ${CANARY}`],
    ["authorization", `Basic ${btoa(`name:${CANARY}`)}`],
    ["cookie", `theme=dark; session=${CANARY}`],
    ["x-api-key", CANARY],
    ["x-amz-security-token", CANARY],
    ["x-team", CANARY],
  ])("a secret in the header %s: %s is not written, even if the gateway repeats it", async (name, value) => {
    const headers = { "content-type": "application/json", [name]: value };
    const body = JSON.stringify({ error: { message: `no access for ${CANARY}, ${value}` } });
    const text = await recordExchange(createResponse(body), undefined, { headers });
    expect(text).toContain("no access for");
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain(btoa(`name:${CANARY}`));
  });

  test.each([
    ["a query", `/v1/models?api_key=${CANARY}&page=2`],
    ["an encoded query", `/v1/models?key=${encodeURIComponent(`${CANARY}+/=`)}`],
    ["a path", `/v1/keys/${CANARY}`],
    ["a path with another key", `/v1/keys/sk-${CANARY}`],
  ])("a secret in %s is not written", async (_, path) => {
    expect(await recordExchange(createResponse(`{"seen":"${CANARY}"}`), path)).not.toContain(CANARY);
  });

  test.each([
    ["a key", { messages: [{ role: "user", content: `mine is sk-${CANARY}, keep it` }] }],
    ["a token", { messages: [{ role: "user", content: `eyJhbGciOiJIUzI1NiJ9.${CANARY}.${CANARY}` }] }],
    ["a header", { messages: [{ role: "user", content: `Authorization: Bearer ${CANARY}` }] }],
    ["a secret field", { tools: [{ api_key: CANARY, Authorization: CANARY, password: CANARY }] }],
    ["a field name", { [`sk-${CANARY}`]: 1 }],
    ["a data URI", { image: [`data:image/png;base64,${CANARY}`, `data:,${CANARY}`] }],
    ["a file as Base64", { URL: btoa(CANARY.repeat(20)) }],
    ["a signed URL", { image: [`https://name:${CANARY}@a.test/b.png?signature=${CANARY}`] }],
  ])("a secret in %s of the request is not written", async (_, body) => {
    const text = await recordExchange(fine, undefined, { body: JSON.stringify(body) });
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain(btoa(CANARY.repeat(20)).slice(40, 80));
  });

  test("A secret in a request without JSON is not written", async () => {
    expect(await recordExchange(fine, undefined, { body: `{oops sk-${CANARY} ${CANARY}` })).not.toContain(
      CANARY,
    );
  });

  test.each([
    ["the response", `{"text":"${CANARY}"}`],
    ["a response with escapes", `{"text":"${CANARY.replace("c", "\\u0063")}"}`],
    ["a response with line breaks", `{\n  "text": "${CANARY}"\n}`],
    ["a response with a data URI", `{"data":[{"b64":"data:image/png;base64,sk-${CANARY}"}]}`],
    ["an error page", `<html>Bearer ${CANARY}</html>`],
    ["a cut response", `{"text":"${CANARY}`],
  ])("a secret in %s is not written", async (_, body) => {
    const text = await recordExchange(createResponse(body));
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain("u0063");
  });

  test("A secret in the headers of the response is not written", async () => {
    const headers = {
      "content-type": "application/json",
      "set-cookie": `id=other-${CANARY}`,
      "x-request-id": CANARY,
    };
    expect(await recordExchange(createResponse(`{"text":"other-${CANARY}"}`, headers))).not.toContain(
      "canary",
    );
  });

  test.each([
    ["in one event", createStream(toFrame({ content: `it is ${CANARY}!` }))],
    [
      "over two pieces of the network",
      createStream(...cutInHalves(toFrame({ content: CANARY })), "data: [DONE]\n\n"),
    ],
    ["over bytes one by one", createStream(...toFrame({ content: `${CANARY} é` }).split(""))],
    [
      "over the text of two events",
      createStream(...cutInHalves(CANARY).map((content) => toFrame({ content }))),
    ],
    ["over the text of many events", createStream(...[...CANARY].map((content) => toFrame({ content })))],
    ["over the thinking", createStream(...[...CANARY].map((text) => toFrame({ reasoning_content: text })))],
    [
      "over the arguments of a call, beside another call",
      createStream(
        ...[...CANARY].flatMap((text) => [
          toFrame({ tool_calls: [{ index: 1, function: { arguments: text } }] }),
          toFrame({ tool_calls: [{ index: 0, function: { arguments: "x" } }] }),
        ]),
      ),
    ],
    [
      "over two choices that alternate",
      createStream(...[...CANARY].flatMap((content) => [toFrame({ content }), toFrame({ content: "x" }, 1)])),
    ],
    [
      "over events with a name and an id",
      createStream(...[...CANARY].map((content) => `event: delta\nid: 1\n${toFrame({ content })}`)),
    ],
    [
      "in an event that is no JSON",
      createStream(`data: {"content":"${CANARY}\n\n`, ...cutInHalves(`: ${CANARY}\n\n`)),
    ],
    ["in a stream that is cut", createStream(`data: {"choices":[{"delta":{"content":"${CANARY}`)],
    [
      "as a data URI, over many events",
      createStream(
        ...[..."see data:image/png;base64,", ...CANARY, " end"].map((content) => toFrame({ content })),
      ),
    ],
    [
      "as another key, over many events",
      createStream(...[..."sk-", ...CANARY].map((content) => toFrame({ content }))),
    ],
  ])("a secret in a stream is not written: %s", async (_, respond) => {
    const text = await recordExchange(respond);
    expect(text).not.toContain(CANARY);
    // the joined text of the deltas
    const written = [
      ...text.matchAll(/"(?:content|reasoning_content|arguments)\\?":\\?"((?:[^"\\]|\\.)*?)\\?"/g),
    ];
    expect(
      written
        .map(([, part]) => part)
        .join("")
        .replaceAll("x", ""),
    ).not.toContain("0123456789");
  });

  test("A secret in a response that its client aborts is not written", async () => {
    const { readDisk, ended, ...recorder } = await startRecorder(createFastEmulator({ apiKeys: [CANARY] }));
    const controller = new AbortController();
    const body = JSON.stringify(createRequest(`${CANARY} [[stall]]`, { stream: true }));
    const init = { method: "POST", headers: authorized, body, signal: controller.signal };
    const response = await recorder.fetch("/v1/chat/completions", init);
    await response.body?.getReader().read();
    controller.abort();
    await expect.poll(() => ended).toHaveLength(1);
    expect(readDisk()).toContain('"end": "aborted"');
    expect(readDisk()).not.toContain(CANARY);
  });

  test("A secret of earlier requests is not written", async () => {
    const { readDisk, ...recorder } = await startRecorder({
      fetch: async () => Response.json({ last: CANARY }),
    });
    await (await recorder.fetch("/v1/models", { headers: authorized })).text();
    await (await recorder.fetch("/v1/models")).text();
    expect(readDisk()).not.toContain(CANARY);
  });
});

describe("a replay", () => {
  const hello: Recording = {
    version: 1,
    recordedAt: "2026-03-14T00:00:00.000Z",
    request: {
      method: "POST",
      path: "/v1/chat/completions",
      body: { model: "delta-5.3", messages: ["Hello"] },
    },
    response: {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      afterMs: 300,
      end: "finished",
      events: [
        { afterMs: 0, data: { n: 1 } },
        { afterMs: 1000, data: { n: 2 } },
        { afterMs: 10, text: "data: [DONE]\n\n" },
      ],
    },
  };
  const createRecording = (name: string, response: Partial<Recording["response"]> = {}): NamedRecording => ({
    name,
    recording: { ...hello, response: { ...hello.response, ...response } },
  });
  const post = (body: object, replay: Replay) => send(replay, "/v1/chat/completions", body);
  const same = { messages: ["Hello"], model: "delta-5.3" };

  test.each([
    [1, [300, 1000, 10]],
    [10, [30, 100, 1]],
    [Infinity, []],
  ])("at speed %d waits as long as was recorded, divided", async (speed, sleeps) => {
    const clock = createLeapingClock();
    const response = await post(
      same,
      createReplay({ recordings: [createRecording("0001.json")], speed, clock }),
    );
    expect(response.headers.get("x-sluice-recording")).toBe("0001.json");
    expect(await response.text()).toBe('data: {"n":1}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n');
    expect(clock.sleeps).toEqual(sleeps);
  });

  test("returns the recordings of equal requests in order, then the last one again", async () => {
    const recordings = ["QUEUED", "SUCCESS"].map((status, at) => {
      const { events: _, ...response } = hello.response;
      return { name: `${at}`, recording: { ...hello, response: { ...response, body: { status } } } };
    });
    const notes: string[] = [];
    const replay = createReplay({ recordings, speed: Infinity, onEnd: ({ note }) => void notes.push(note) });
    const texts = [];
    for (const _ of [1, 2, 3]) texts.push(await (await post(same, replay)).text());
    expect(texts).toEqual(['{"status":"QUEUED"}', '{"status":"SUCCESS"}', '{"status":"SUCCESS"}']);
    expect(notes).toEqual(["replayed 0", "replayed 1", "replayed 1, again"]);
  });

  test("refuses a request that fits no recording, and names the field that differs from the nearest", async () => {
    const replay = createReplay({ recordings: [createRecording("0001.json")] });
    const response = await post({ ...same, messages: ["Hallo"] }, replay);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error).toMatchObject({
      code: "no_recording",
      message:
        'In these recordings, no recording fits POST /v1/chat/completions: 0001.json differs: messages.0 was "Hello", is "Hallo".',
    });
    expect(replay.misses).toHaveLength(1);
    expect(replay.unused()).toEqual(["0001.json"]);
  });

  const createImage = (seed: string) => btoa(`PNG ${seed} and the rest of a picture`);
  test.each<[string, string, (seed: string) => object]>([
    [
      "a chat with another image",
      "/v1/chat/completions",
      (seed) => ({
        ...createRequest(""),
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: `data:image/png;base64,${createImage(seed)}` } },
              { type: "text", text: "What is it?" },
            ],
          },
        ],
      }),
    ],
    [
      "an image with another reference",
      "/v1/images/generations",
      (seed) => ({
        model: "gamma-image-5-0-260128",
        prompt: "A fox",
        image: [`data:image/png;base64,${createImage(seed)}`],
      }),
    ],
    [
      "an asset of another picture as Base64",
      "/gamma/asset/CreateAsset",
      (seed) => ({
        model: "gamma-asset",
        GroupId: "g",
        Name: "n",
        AssetType: "Image",
        URL: btoa(createImage(seed).repeat(6)),
      }),
    ],
  ])("does not replay %s", async (_, path, body) => {
    const { folder, readDisk, ...recorder } = await startRecorder(createFastEmulator());
    await (await recorder.fetch(path, createInit(body("one")))).text();
    expect(readDisk()).not.toContain(createImage("one").slice(0, 30));
    const { play } = replayFolder(folder);
    expect((await play(path, createInit(body("one")))).status).toBe(200);
    const other = await play(path, createInit(body("two")));
    expect(other.status).toBe(400);
    expect(await other.text()).toMatch(/differs: .*\[redacted \w{16}\].*, is .*\[redacted \w{16}\]/);
  });

  test("does not replay a form with another file of the same name and size", async () => {
    const createForm = (image: string) => {
      const body = new FormData();
      const fields = { model: "gamma-asset", GroupId: "g", Name: "Castle", AssetType: "Image" };
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      body.set("URL", new File([image], "castle.png", { type: "image/png" }));
      return { method: "POST", headers: { authorization: `Bearer ${KEY}` }, body };
    };
    const { folder, ...recorder } = await startRecorder(createFastEmulator());
    await (await recorder.fetch("/gamma/asset/CreateAsset", createForm("one"))).text();
    const { play } = replayFolder(folder);
    expect((await play("/gamma/asset/CreateAsset", createForm("one"))).status).toBe(200);
    expect((await play("/gamma/asset/CreateAsset", createForm("two"))).status).toBe(400);
  });

  test("names no secret of a request that fits no recording", async () => {
    const replay = createReplay({ recordings: [createRecording("0001.json")] });
    const response = await post({ ...same, messages: ["sk-canary-123456"] }, replay);
    expect(await response.text()).not.toContain("canary");
  });

  test.each([
    ["that is not JSON", "{", "it is not JSON"],
    ["without a field", '{ "version": 1 }', "recordedAt"],
    ["of another version", JSON.stringify({ ...hello, version: 2 }), "version"],
  ])("names a file %s, and the wrong field", (_, text, path) => {
    const folder = createFolder();
    writeFileSync(join(folder, "0001.json"), text);
    expect(() => readRecordings(folder)).toThrow(/0001\.json is not a recording/);
    expect(() => readRecordings(folder)).toThrow(path);
  });

  test("A replay of an empty folder is an error that says what to do", () => {
    expect(() => readRecordings(createFolder())).toThrow(/--record/);
  });
});
