import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { streams } from "virtual:conformance";
import { createClient, streamChat } from "@sluice/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { conformanceDir } from "../support/conformance.ts";

/** Serves each recorded stream at its own address, as its service would. */
const gateway = createServer((request, response) => {
  const id = request.url?.split("/")[1] ?? "";
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.end(readFileSync(resolve(conformanceDir, "streams", `${id}.sse`)));
});

/** Tests the chosen recorded streams over HTTP. Other tests read all of them without HTTP. */
export function testRecordings(isChosen: (index: number) => boolean): void {
  describe("recorded streams over HTTP", () => {
    let origin = "";
    const warn = vi.spyOn(console, "warn");
    beforeEach(() => void warn.mockReset().mockImplementation(() => {}));
    afterEach(() => {
      // recordings that end without a finish reason
      for (const [text] of warn.mock.calls) expect(text).toContain("choices.finish_reason: did not come");
    });
    beforeAll(async () => {
      await new Promise<void>((ready) => gateway.listen(0, "127.0.0.1", ready));
      origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    });
    afterAll(() => {
      warn.mockRestore();
      gateway.close();
      gateway.closeAllConnections();
    });

    const chosen = (streams ?? []).filter((_, index) => isChosen(index));
    for (const { id, expected } of chosen) {
      test(`${id} gives the recorded response`, async () => {
        const client = createClient({ baseURL: `${origin}/${id}`, apiKey: "sk-test" });
        const stream = streamChat(client, {
          model: "delta-5.3",
          messages: [{ role: "user", content: "Hello" }],
        });
        const [first] = expected.choices;
        if (expected.error_field_lines.length > 0) {
          await expect(stream.result()).rejects.toMatchObject({ partial: { content: first?.content } });
          return;
        }
        const { message, finishReason, usage, toolCalls } = await stream.result();
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
}
