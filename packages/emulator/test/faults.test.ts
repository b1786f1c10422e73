import { describe, expect, test } from "vitest";
import {
  type Chunk,
  complete,
  createFastEmulator,
  createLeapingClock,
  createRequest,
  joinText,
  KEY,
  listDeltas,
  post,
  readChunks,
  readFrames,
  readMessage,
  readRefusal,
  send,
} from "./support.js";

const gamma = { model: "gamma-chat-1-6-251015" };
const stream = { ...gamma, stream: true };

function parseChunks(frames: readonly string[]): Chunk[] {
  return frames.map((frame) => JSON.parse(frame) as Chunk);
}

describe("[[429]] and [[500]]", () => {
  test.each([gamma, stream])("[[429]] always refuses, and says when to retry (%o)", async (fields) => {
    const emulator = createFastEmulator();
    for (let attempt = 0; attempt < 3; attempt++) {
      const response = await post(emulator, createRequest("hi [[429]]", fields));
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toBe("1");
      expect(await readRefusal(response)).toMatchObject({
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
      });
    }
  });

  test("[[500]] always fails", async () => {
    const response = await post(createFastEmulator(), createRequest("hi [[500]]", stream));
    expect(response.status).toBe(500);
    expect(await readRefusal(response)).toMatchObject({ type: "server_error", code: "internal_error" });
  });

  test.each([429, 500])("[[%i:2]] refuses two requests with that body, then responds", async (status) => {
    const emulator = createFastEmulator();
    const send = async (prompt: string) => (await post(emulator, createRequest(prompt))).status;
    const request = `hi [[${status}:2]]`;
    expect(await send(request)).toBe(status);
    expect(await send(`${request} there`)).toBe(status);
    expect([await send(request), await send(request)]).toEqual([status, 200]);
    await send(request);
    emulator.reset();
    expect([await send(request), await send(request), await send(request)]).toEqual([status, status, 200]);
  });
});

test.each(["truncate", "unconfirmed", "drop", "malformed", "error-frame"])(
  "[[%s:1]] breaks one response to a body, and the next is complete",
  async (fault) => {
    const emulator = createFastEmulator();
    const send = (prompt: string) =>
      post(emulator, createRequest(prompt, stream))
        .then((response) => response.text())
        .then(
          (text) => /"finish_reason":"stop"/.test(text) && text.endsWith("[DONE]\n\n") && !/lost/.test(text),
        )
        .catch(() => false);
    const request = `hi [[${fault}:1]]`;
    expect([await send(request), await send(request)]).toEqual([false, true]);
    expect(await send(`${request} there`)).toBe(false);
    await send(request);
    emulator.reset();
    expect([await send(request), await send(request)]).toEqual([false, true]);
  },
);

describe("a fault with a count works again for an equal request after a complete response", () => {
  test.each([
    ["[[429:2]]", [429, 429, "whole"]],
    ["[[500:1]]", [500, "whole"]],
    ["[[truncate:1]]", ["broken", "whole"]],
    ["[[429:1]] [[truncate:1]]", [429, "broken", "whole"]],
  ])("%s in a chat", async (fault, results) => {
    for (const fields of [gamma, stream]) {
      const emulator = createFastEmulator();
      const readResult = async () => {
        const response = await post(emulator, createRequest(`hi ${fault}`, fields));
        const text = await response.text();
        if (response.status !== 200) return response.status;
        return /\[DONE\]\n\n$|\}$/.test(text) && text.includes('"stop"') ? "whole" : "broken";
      };
      const received: unknown[] = [];
      for (let nth = 0; nth < 2 * results.length; nth++) received.push(await readResult());
      expect(received).toEqual([...results, ...results]);
    }
  });

  test("the same fault with another label works again at once", async () => {
    const emulator = createFastEmulator();
    const readStatus = async (fault: string) =>
      (await post(emulator, createRequest(`hi ${fault}`, gamma))).status;
    expect([await readStatus("[[429:1:first]]"), await readStatus("[[429:1:second]]")]).toEqual([429, 429]);
    expect([await readStatus("[[429:1:first]]"), await readStatus("[[429:1:second]]")]).toEqual([200, 200]);
  });

  test("a fault with a count works again for an image", async () => {
    const emulator = createFastEmulator();
    const statuses: number[] = [];
    for (let nth = 0; nth < 4; nth++) {
      const body = { model: "gamma-image-5-0-260128", prompt: "A reef [[429:1]]" };
      const response = await send(emulator, "/v1/images/generations", body);
      statuses.push(response.status);
      await response.body?.cancel();
    }
    expect(statuses).toEqual([429, 200, 429, 200]);
  });
});

test("[[slow]] is at least 50 deltas, at least 20 ms apart even at full speed", async () => {
  const clock = createLeapingClock();
  const deltas = listDeltas(
    await readChunks(createFastEmulator({ clock }), createRequest("hi [[slow]]", gamma)),
  );
  expect(deltas.filter(({ content }) => content).length).toBeGreaterThanOrEqual(50);
  expect(clock.sleeps.length).toBeGreaterThanOrEqual(50);
  expect(Math.min(...clock.sleeps)).toBeGreaterThanOrEqual(20);
});

test("[[slow]] also delays a response without a stream", async () => {
  const clock = createLeapingClock();
  await complete(createFastEmulator({ clock }), createRequest("hi [[slow]]", gamma));
  expect(clock.sleeps[0]).toBeGreaterThanOrEqual(50 * 20);
});

describe("[[stall]]", () => {
  test("sends some text, then nothing until the request aborts", async () => {
    const emulator = createFastEmulator();
    const controller = new AbortController();
    const response = await post(emulator, createRequest("hi [[stall]]", stream), {
      signal: controller.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (let frame = 0; frame < 9; frame++) expect((await reader.read()).done).toBe(false);
    const next = reader.read();
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
    expect(emulator.requests[0]).toMatchObject({ status: 200, deltas: 8, aborted: true, finished: false });
  });

  test("never responds to a request without a stream", async () => {
    const emulator = createFastEmulator();
    const controller = new AbortController();
    const response = post(emulator, createRequest("hi [[stall]]", gamma), { signal: controller.signal });
    controller.abort();
    await expect(response).rejects.toMatchObject({ name: "AbortError" });
    expect(emulator.requests[0]).toMatchObject({ status: undefined, aborted: true });
  });
});

describe("[[truncate]]", () => {
  test("ends the stream cleanly, without a finish reason or [DONE]", async () => {
    const { frames, failure } = await readFrames(
      await post(createFastEmulator(), createRequest("hi [[truncate]]", stream)),
    );
    expect(failure).toBeUndefined();
    const chunks = parseChunks(frames);
    expect(joinText(listDeltas(chunks))).not.toBe("");
    expect(chunks.every(({ choices }) => choices[0]?.finish_reason === null)).toBe(true);
  });

  test("cuts the JSON of a response without a stream", async () => {
    const response = await post(createFastEmulator(), createRequest("hi [[truncate]]", gamma));
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow(SyntaxError);
  });
});

describe("[[drop]]", () => {
  test("breaks the connection after some text", async () => {
    const emulator = createFastEmulator();
    const { frames, failure } = await readFrames(await post(emulator, createRequest("hi [[drop]]", stream)));
    expect(failure).toBeInstanceOf(TypeError);
    expect(joinText(listDeltas(parseChunks(frames)))).not.toBe("");
    expect(emulator.requests[0]).toMatchObject({ aborted: false, finished: false });
  });

  test("breaks within the body of a response without a stream", async () => {
    const response = await post(createFastEmulator(), createRequest("hi [[drop]]", gamma));
    await expect(response.text()).rejects.toBeInstanceOf(TypeError);
  });
});

describe("[[malformed]]", () => {
  test("sends one frame of broken JSON after some text, then the rest", async () => {
    const { frames } = await readFrames(
      await post(createFastEmulator(), createRequest("hi [[malformed]]", stream)),
    );
    expect(frames.pop()).toBe("[DONE]");
    const broken = frames.findIndex((frame) => !isJSON(frame));
    expect(broken).toBeGreaterThan(1);
    expect(joinText(listDeltas(parseChunks(frames.slice(0, broken))))).not.toBe("");
    expect(frames.slice(broken + 1).every(isJSON)).toBe(true);
  });

  test("responds with broken JSON without a stream", async () => {
    const response = await post(createFastEmulator(), createRequest("hi [[malformed]]", gamma));
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    await expect(response.json()).rejects.toThrow(SyntaxError);
  });

  function isJSON(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
});

describe("[[unconfirmed]]", () => {
  test("Some text of a stream comes, then [DONE] without a finish_reason", async () => {
    const chunks = await readChunks(createFastEmulator(), createRequest("hi [[unconfirmed]]", gamma));
    expect(joinText(listDeltas(chunks))).not.toBe("");
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? null)).toEqual(chunks.map(() => null));
  });

  test("The finish_reason of a whole response is null", async () => {
    const { choices } = await complete(createFastEmulator(), createRequest("hi [[unconfirmed]]", gamma));
    expect(choices[0]).toMatchObject({ finish_reason: null, message: { content: expect.any(String) } });
  });
});

describe("[[error-frame]]", () => {
  test("ends the stream with an error object after some text", async () => {
    const { frames, failure } = await readFrames(
      await post(createFastEmulator(), createRequest("hi [[error-frame]]", stream)),
    );
    expect(failure).toBeUndefined();
    const last = JSON.parse(frames.pop() ?? "") as Chunk;
    expect(last).toEqual({
      error: { message: expect.any(String), type: "server_error", code: "upstream_error" },
    });
    expect(joinText(listDeltas(parseChunks(frames)))).not.toBe("");
  });

  test("is a 500 without a stream", async () => {
    expect((await post(createFastEmulator(), createRequest("hi [[error-frame]]", gamma))).status).toBe(500);
  });
});

test.each([
  ["length", "length"],
  ["filter", "content_filter"],
])("[[%s]] cuts the response and says so", async (fault, reason) => {
  const { choices } = await complete(createFastEmulator(), createRequest(`hi [[${fault}]]`, gamma));
  expect(choices[0]?.finish_reason).toBe(reason);
  expect(choices[0]?.message.content).not.toBe("");
  const chunks = await readChunks(createFastEmulator(), createRequest(`hi [[${fault}]]`, gamma));
  expect(joinText(listDeltas(chunks))).toBe(choices[0]?.message.content);
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(reason);
});

test("[[json]] responds in JSON", async () => {
  const { content } = await readMessage(
    createFastEmulator(),
    createRequest("Tell me about tea [[json]]", gamma),
  );
  expect(JSON.parse(content ?? "")).toMatchObject({ topic: "tea" });
});

test("a fault happens even if the response is a single token", async () => {
  const response = await post(
    createFastEmulator(),
    createRequest("hi [[drop]]", { ...stream, max_tokens: 1 }),
  );
  expect((await readFrames(response)).failure).toBeInstanceOf(TypeError);
});

test("thinking comes first, so that a broken response still has text", async () => {
  const { frames } = await readFrames(
    await post(createFastEmulator(), createRequest("hi [[drop]]", { stream: true })),
  );
  const deltas = listDeltas(parseChunks(frames));
  expect(deltas.some(({ reasoning_content }) => reasoning_content)).toBe(true);
  expect(joinText(deltas)).not.toBe("");
});

test("faults combine", async () => {
  const clock = createLeapingClock();
  const response = await post(
    createFastEmulator({ clock }),
    createRequest("hi [[slow]] [[truncate]]", stream),
  );
  expect((await readFrames(response)).frames.at(-1)).not.toBe("[DONE]");
  expect(Math.min(...clock.sleeps)).toBeGreaterThanOrEqual(20);
});

test("only the last user message sets a fault, or is refused for an unknown fault", async () => {
  const messages = [
    { role: "user", content: "hi [[500]]" },
    { role: "assistant", content: "Sorry. [[429]]" },
    { role: "user", content: "hi [[strem]]" },
    { role: "user", content: "Tell me about rooms" },
  ];
  const { content } = await readMessage(createFastEmulator(), { ...gamma, messages });
  expect(content).toContain("rooms");
});

describe("a fault that does not exist is refused, because the test of a failure would pass without one", () => {
  test.each([
    ["hi [[truncat]]", "[[truncat]] is not a fault here; did you mean `[[truncate]]`?"],
    ["[[error_frame]] hi", "[[error_frame]] is not a fault here; did you mean `[[error-frame]]`?"],
    ["hi [[strem]]", "[[strem]] is not a fault here; the faults are [[429]], [[500]], [[slow]], "],
    ["[[strem]]", "[[strem]] is not a fault here"],
    ["hi [[strem]] [[slow]]", "[[strem]] is not a fault here"],
    ["[[503]] hi", "[[503]] is not a fault here; did you mean `[[500]]`?"],
    ["say [[strem:2]] twice", "[[strem:2]] is not a fault here"],
    ["hi [[fail]]", "[[fail]] is not a fault here"],
    ["hi [[429:twice]]", "[[429:twice]] is not a fault here; did you mean `[[429:2]]`?"],
    ["hi [[ drop ]]", "[[ drop ]] is not a fault here; did you mean `[[drop]]`?"],
  ])("%s", async (prompt, message) => {
    for (const fields of [gamma, stream]) {
      const emulator = createFastEmulator();
      const response = await post(emulator, createRequest(prompt, fields));
      expect(response.status).toBe(400);
      const refusal = await readRefusal(response);
      expect(refusal).toMatchObject({ code: "unknown_fault", message: expect.stringContaining(message) });
    }
  });

  test.each<[string, string, (fault: string) => object]>([
    ["of an image", "/v1/images/generations", (prompt) => ({ model: "gamma-image-5-0-260128", prompt })],
    ["of a video", "/v1/video/generations", (prompt) => ({ model: "beta3.0-video", input: { prompt } })],
    [
      "of a gamma video",
      "/v1/video/generations",
      (text) => ({ model: "gamma-video-2.0", content: [{ type: "text", text }] }),
    ],
    [
      "of an asset",
      "/gamma/asset/CreateAsset",
      (Name) => ({
        model: "gamma-asset",
        GroupId: "g",
        Name,
        AssetType: "Image",
        URL: "https://a.test/b.png",
      }),
    ],
    ["of epsilon", "/epsilon/v1/videos/text2video", (text) => ({ input: { text }, quality: "high" })],
  ])("the misspelled fault in %s is refused", async (_, path, body) => {
    const send = async (prompt: string) =>
      createFastEmulator().fetch(`https://gateway.test${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify(body(prompt)),
      });
    const refused = await send("A reef [[malformd]]");
    expect(refused.status).toBe(400);
    expect((await readRefusal(refused)).message).toContain("did you mean `[[malformed]]`?");
    expect((await send("A reef [[Page name]]")).status).toBe(200);
  });
});

test.each([
  "What is [[1, 2], [3]] in Python?",
  "The determinant of [[7]]",
  "See [[Page name]] and [[Rooms]]",
  'Explain this:\n[[bin]]\nname = "tea"',
  "What does [[nodiscard]] mean in C++?",
  "if [[ -f tea ]]; then echo [[ $x == y ]]; fi",
  "Open [[file:tea.org][the notes]]",
])("Double brackets that are not a fault are text: %s", async (prompt) => {
  expect((await post(createFastEmulator(), createRequest(prompt))).status).toBe(200);
});

test("A word in double brackets within a text is named in the header, as it may be a misspelt fault", async () => {
  const emulator = createFastEmulator();
  const response = await post(emulator, createRequest("What does [[nodiscard]] mean?", { n: 1 }));
  expect(response.headers.get("x-sluice-unknown-fields")).toBe("n, [[nodiscard]]");
  expect(emulator.requests[0]).toMatchObject({ unknownFields: ["n"], unknownFaults: ["nodiscard"] });
});

test("A fault of a script that its endpoint does not have changes nothing", async () => {
  const emulator = createFastEmulator({ script: { replies: [{ faults: ["fail", "length"] }] } });
  const { choices } = await complete(emulator, createRequest("hi", gamma));
  expect(choices[0]?.finish_reason).toBe("length");
});

test("a fault in a text part of a message works", async () => {
  const content = [{ type: "text", text: "hi [[500]]" }];
  const response = await post(createFastEmulator(), {
    ...createRequest(""),
    messages: [{ role: "user", content }],
  });
  expect(response.status).toBe(500);
});
