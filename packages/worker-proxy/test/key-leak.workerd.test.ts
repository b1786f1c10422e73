import { readStreams } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";
import { SECRET } from "./support/sign.js";

expectLog("502 upstream_type");

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
/** With `readStreams()` the proxy reads the whole stream. */
const read = { plugins: [readStreams()] };
const streamed = { model: "delta-5.3", stream: true, messages: [] };

/** Each character as a JSON escape. */
const escaped = (text: string) =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const frame = (content: string, index = 0) =>
  `data: {"choices":[{"index":${index},"delta":{"content":"${content}"}}]}\n\n`;

describe("the whole key does not pass in JSON (case 54)", () => {
  test.each([
    ["as it is", KEY],
    ["in escapes", escaped(KEY)],
    ["in a text", `no such key: ${KEY}!`],
  ])("%s, on any route", async (_, note) => {
    for (const route of ["videos", "chat"] as const) {
      const { call } = openProxy(
        { routes: [route], secret: () => SECRET },
        () => new Response(`{"id":"t","data":[{"note":"${note}"}]}`, { headers: json }),
      );
      const body = route === "chat" ? undefined : { model: "beta3.0-video", input: { prompt: "a" } };
      const path = route === "chat" ? "/v1/chat/completions" : "/v1/video/generations";
      const { status, error } = await call(createRequest({ path, ...(body && { body }) }));
      expect([status, error?.["code"]]).toEqual([502, "upstream_type"]);
    }
  });

  test("The key as a name in JSON does not pass", async () => {
    const respond = () => new Response(`{"id":"t","${escaped(KEY)}":1}`, { headers: json });
    expect((await openProxy({}, respond).call(createRequest())).status).toBe(502);
  });

  test("under nesting that is deeper than any response", async () => {
    const respond = () => new Response(`${"[".repeat(1000)}"${KEY}"${"]".repeat(1000)}`, { headers: json });
    expect((await openProxy({}, respond).call(createRequest())).status).toBe(502);
  });
});

test.each(["x-stream-id", "x-request-id", "retry-after", "server-timing", "x-sluice-features"])(
  "nor in the header %s (case 54)",
  async (name) => {
    const { call } = openProxy({ plugins: [{ routes: [] }] }, () =>
      Response.json({ id: "1" }, { headers: { [name]: KEY } }),
    );
    const { status, headers } = await call(createRequest());
    expect(status).toBe(200);
    expect([...headers].join("\n")).not.toContain(KEY);
  },
);

describe("the whole key does not pass in a stream that is read (case 54)", () => {
  const halves = [KEY.slice(0, 9), KEY.slice(9)] as const;
  const letters = [...KEY];
  test.each([
    ["in one event", frame(KEY)],
    ["in escapes", frame(escaped(KEY))],
    ["split over two events", halves.map((half) => frame(half)).join("")],
    ["split letter by letter", letters.map((letter) => frame(letter)).join("")],
    ["split letter by letter, in escapes", letters.map((letter) => frame(escaped(letter))).join("")],
    ["split with empty deltas between", halves.map((half) => frame(half) + frame("")).join("")],
    ["split with another choice between", frame(halves[0]) + frame("b", 1) + frame(halves[1])],
    ["behind a beginning of itself", frame(`${KEY.slice(0, 20)}${halves[0]}`) + frame(halves[1])],
    ["over data lines that are no JSON", `data: ${halves[0]}\ndata: ${halves[1]}\n\n`],
    ["in a comment", `: ${KEY}\n\n`],
    ["in an id", `id: ${KEY}\ndata: {}\n\n`],
    ["in an unknown field", `${KEY}: 1\n\n`],
    ["in an error event", `event: error\ndata: {"message":"no such key: ${KEY}"}\n\n`],
    ["in the last event, without its blank line", `data: {"a":"${KEY}"}`],
    ["across a megabyte", frame(`${"x".repeat(1024 * 1024 - 60)}${KEY}${"x".repeat(1024 * 1024)}`)],
  ])("%s", async (_, quoting) => {
    for (const size of [1_000_000_000, 1000]) {
      const bytes = new TextEncoder().encode(`${frame("a")}${quoting}data: [DONE]\n\n`);
      const body = new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const response = await openProxy(read, () => new Response(body, { headers: events })).send(
        createRequest({ body: streamed }),
      );
      const text = await response.text();
      expect(text).toMatch(/event: error\ndata: .*"upstream_type"/);
      expect(text).not.toContain("[DONE]");
      expect(decoded(text)).not.toContain(KEY);
    }
  });

  /** Returns the text that a client reads: all contents of each choice, joined. */
  function decoded(text: string): string {
    const all = [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(
      ([, data = ""]) => JSON.parse(data).choices ?? [],
    );
    return [0, 1]
      .map((n) =>
        all
          .filter(({ index }) => index === n)
          .map(({ delta }) => delta.content)
          .join(""),
      )
      .join("\n");
  }
});

describe("checks the head of a stream that is passed on unread (case 54)", () => {
  test.each([
    ["the first event", frame(KEY)],
    ["a comment before it", `: ${KEY}\n\n${frame("a")}`],
    ["an error instead of a response", `event: error\ndata: {"error":{"message":"key ${escaped(KEY)}"}}\n\n`],
  ])("%s", async (_, head) => {
    const { call } = openProxy({}, () => new Response(`${head}data: [DONE]\n\n`, { headers: events }));
    const { text } = await call(createRequest({ body: streamed }));
    expect(text).toMatch(/^\n\nevent: error\ndata: .*"upstream_type"/);
  });
});

describe("passes a part of the key (case 55)", () => {
  const WORDS = "acme-gateway-production-key";
  test.each([
    ["JSON", false],
    ["a stream", true],
  ])("words of which the key is made pass in %s", async (_, isStream) => {
    const text = "the production gateway of acme-gateway-production, and its key";
    const respond = () =>
      isStream
        ? new Response(`${frame(text)}data: [DONE]\n\n`, { headers: events })
        : Response.json({ note: text });
    const { call } = openProxy({ ...read, apiKey: () => WORDS }, respond);
    const { status, text: passed } = await call(createRequest(isStream ? { body: streamed } : {}));
    expect([status, passed]).toEqual([200, expect.stringContaining(text)]);
    expect(passed).not.toContain("event: error");
  });

  test("A key that is shorter than 8 characters is not looked for", async () => {
    const { call } = openProxy({ apiKey: () => "dev-key" }, () => Response.json({ note: "your dev-key" }));
    expect((await call(createRequest())).status).toBe(200);
  });
});
