import { describe, expect, test } from "vitest";
import { asked, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";
import { SECRET } from "./support/sign.js";

const part = KEY.slice(6, 14);

describe("a part of the key does not go down", () => {
  test("in an answer that escapes it, and is written anew", async () => {
    const escaped = part.replace(/^./, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
    const { ask } = openProxy(
      { routes: ["videos"], secret: () => SECRET },
      () =>
        new Response(`{"id":"t","note":"${escaped}"}`, { headers: { "content-type": "application/json" } }),
    );
    const body = { model: "beta3.0-video", input: { prompt: "a" } };
    const { status, error } = await ask(asked({ path: "/v1/video/generations", body }));
    expect([status, error?.["code"]]).toEqual([502, "upstream_type"]);
  });

  test.each(["x-stream-id", "x-request-id", "retry-after", "server-timing", "x-sluice-offers"])(
    "in the header %s",
    async (name) => {
      const { ask } = openProxy({ extensions: [{ routes: [] }] }, () =>
        Response.json({ id: "1" }, { headers: { [name]: part } }),
      );
      const { status, headers } = await ask(asked());
      expect(status).toBe(200);
      expect([...headers].join("\n")).not.toContain(part);
    },
  );
});

describe("a gateway that quotes the key in a stream is not quoted", () => {
  const frame = (content: string) => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;
  const streamed = (text: string) => {
    const headers = { "content-type": "text/event-stream" };
    return openProxy({}, () => new Response(text, { headers })).ask(
      asked({ body: { model: "delta-5.3", stream: true, messages: [] } }),
    );
  };

  test.each([
    ["the whole key", frame(KEY)],
    ["a part of it in an error", `data: {"error":{"message":"no such key: ${part}"}}\n\n`],
    ["a part of it in an error event", `event: error\ndata: {"message":"no such key: ${part}"}\n\n`],
    ["a part of it in the last line", `${frame("a")}data: {"error":{"message":"${part}"}}`],
  ])("%s", async (_, quoting) => {
    const { text } = await streamed(`${frame("a")}${quoting}data: [DONE]\n\n`);
    expect(text).toContain("upstream_type");
    expect(text).not.toContain("[DONE]");
  });

  test("but what keys begin with is anybody's to write", async () => {
    const { text } = await streamed(`${frame("keys begin with sk-")}data: [DONE]\n\n`);
    expect(text).toContain("begin with sk-");
  });
});
