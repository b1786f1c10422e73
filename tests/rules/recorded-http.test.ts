import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { streams } from "virtual:conformance";
import { createClient, streamChat } from "@sluice/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { conformanceDir } from "../support/conformance.ts";

/** Serves each recorded stream at its own address, as its service would. */
const gateway = createServer((request, response) => {
  const id = request.url?.split("/")[1] ?? "";
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.end(readFileSync(resolve(conformanceDir, "streams", `${id}.sse`)));
});

describe.skipIf(!streams)("recorded streams over HTTP (skipped where the data is absent)", () => {
  let origin = "";
  beforeAll(async () => {
    await new Promise<void>((ready) => gateway.listen(0, "127.0.0.1", ready));
    origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  });
  afterAll(() => void gateway.close());

  for (const [index, { id, expected }] of (streams ?? []).entries()) {
    // every recording is read elsewhere: this is about the connection
    const tags = index % 8 === 0 ? [] : ["long" as const];
    test(`${id} gives the recorded answer`, { tags }, async () => {
      const client = createClient({ baseURL: `${origin}/${id}`, apiKey: "sk-test" });
      const answer = streamChat(client, {
        model: "delta-5.3",
        messages: [{ role: "user", content: "Hello" }],
      });
      const [first] = expected.choices;
      if (expected.error_field_lines.length > 0) {
        await expect(answer.result()).rejects.toMatchObject({ partial: { content: first?.content } });
        return;
      }
      const { message, finishReason, usage, toolCalls } = await answer.result();
      expect(message.content).toBe(first?.content ?? "");
      expect(message.reasoning_content ?? null).toBe(first?.reasoning_content ?? first?.reasoning ?? null);
      expect(finishReason).toBe(first?.finish_reason);
      expect(usage ?? null).toEqual(expected.usage);
      expect(toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }))).toEqual(
        first?.tool_calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })),
      );
    });
  }
});
