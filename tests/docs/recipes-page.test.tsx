import { createClient } from "@sluice/core";
import type { Emulator } from "@sluice/emulator";
import { type ChatMessage, createChatStore } from "@sluice/react";
import { cleanup, render } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createChatRequest, GATEWAY_KEY, openNetwork, type Worker } from "../support/recipe-network.ts";

/* The recipes with a result on the page, as the documentation has them. */

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

describe("20 messages a day", () => {
  const files = writeFilesOfPage("docs/guides/limits-and-budgets.md");
  const midnight = Date.UTC(2026, 5, 2);
  let emulator: Emulator;
  beforeEach(() => {
    vi.useFakeTimers({ now: midnight - 3_600_000, toFake: ["Date"] });
    vi.stubEnv("SQLITE_FILE", ":memory:");
    emulator = openNetwork();
  });

  async function send(worker: Worker, times: number, env: object, text = "Hello") {
    let last = new Response();
    for (let nth = 0; nth < times; nth += 1) {
      last = await worker.fetch(createChatRequest(text), env);
      await last.clone().text();
    }
    return last;
  }

  test("a budget lets 20 pass, refuses the next until midnight, and says what is left", async () => {
    const { default: worker, host } = await files<{ default: Worker; host: { close(): Promise<void> } }>(
      "src/messages.ts",
    );
    onTestFinished(() => host.close());
    const env = { GATEWAY_API_KEY: GATEWAY_KEY };
    expect((await send(worker, 19, env)).status).toBe(200);
    // the gateway's own refusal is free
    expect((await send(worker, 3, env, "Hello [[429]]")).status).toBe(429);
    const budget = await worker.fetch(
      new Request("https://gateway-proxy.example.workers.dev/v1/budget"),
      env,
    );
    expect(await budget.json()).toMatchObject({ budgets: [{ limit: 20, remaining: 1, resetsAt: midnight }] });
    expect((await send(worker, 1, env)).status).toBe(200);
    const requestCount = emulator.requests.length;
    const refused = await send(worker, 1, env);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: "budget_exhausted" } });
    expect(emulator.requests).toHaveLength(requestCount);
    vi.setSystemTime(midnight + 1000);
    expect((await send(worker, 1, env)).status).toBe(200);
  });
});

describe("the cost of a chat", () => {
  const files = writeFilesOfPage("docs/guides/costs.md");
  type MessageFields = Pick<ChatMessage, "id" | "role" | "content" | "model" | "usage" | "outcome">;
  const usage = { prompt_tokens: 100_000, completion_tokens: 50_000, total_tokens: 150_000 };
  const show = async (messages: readonly MessageFields[]) => {
    const { Cost } = await files<{ Cost: FunctionComponent<{ messages: readonly MessageFields[] }> }>(
      "cost.tsx",
    );
    return render(<Cost messages={messages} />).container.textContent;
  };
  const createMessage = (more: Partial<MessageFields>): MessageFields => ({
    id: "1",
    role: "assistant",
    content: "",
    outcome: "complete",
    usage,
    ...more,
  });

  test("adds up the responses, with less for what the gateway had in its cache", async () => {
    expect(await show([createMessage({ model: "alpha-v4.1-flash" })])).toBe("€0.075");
    const cached = { ...usage, prompt_cache_hit_tokens: 100_000 };
    const messages = [
      createMessage({ model: "alpha-v4.1-flash", usage: cached }),
      createMessage({ model: "unheard-of" }),
    ];
    expect(await show(messages)).toBe("€0.048 and more");
  });

  test("has the count of a response that streamed", async () => {
    const emulator = openNetwork();
    const chat = createChatStore(createClient(emulator.clientOptions), { model: "alpha-v4.1-flash" });
    const { messages } = await chat.send("Hello");
    expect(await show(messages)).toMatch(/^€0\.\d+$/);
  });
});
