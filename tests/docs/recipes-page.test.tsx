import { type Client, createClient } from "@sluice/core";
import type { DurableObjectClass } from "@sluice/durable/cloudflare";
import type { Emulator, EmulatorOptions } from "@sluice/emulator";
import { type ChatMessage, createChatStore, GatewayProvider } from "@sluice/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createObjectHost } from "../support/object-host.ts";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createChatRequest, GATEWAY_KEY, openNetwork, type Worker } from "../support/recipe-network.ts";

/* The recipes whose result is on the page, as they stand on their pages. */

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("20 messages a day", () => {
  const files = writeFilesOfPage("docs/guides/limits-and-budgets.md");
  const midnight = Date.UTC(2026, 5, 2);
  let emulator: Emulator;
  beforeEach(() => {
    vi.useFakeTimers({ now: midnight - 3_600_000, toFake: ["Date"] });
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
    const { default: worker, Sluice } = await files<{ default: Worker; Sluice: DurableObjectClass<never> }>(
      "src/messages.ts",
    );
    const objects = createObjectHost();
    objects.useClass(Sluice);
    const env = { GATEWAY_API_KEY: GATEWAY_KEY, SLUICE: objects.namespace };
    expect((await send(worker, 19, env)).status).toBe(200);
    // the gateway's own refusal is free
    expect((await send(worker, 3, env, "Hello [[429]]")).status).toBe(429);
    const budget = await worker.fetch(
      new Request("https://gateway-proxy.example.workers.dev/v1/budget"),
      env,
    );
    expect(await budget.json()).toMatchObject({ budgets: [{ limit: 20, remaining: 1, resetsAt: midnight }] });
    expect((await send(worker, 1, env)).status).toBe(200);
    const asked = emulator.requests.length;
    const refused = await send(worker, 1, env);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: "budget_exhausted" } });
    expect(emulator.requests).toHaveLength(asked);
    vi.setSystemTime(midnight + 1000);
    expect((await send(worker, 1, env)).status).toBe(200);
  });

  test("a count in a database of one's own does the same", async () => {
    const { createCountingProxy } = await files<{
      createCountingProxy(count: (name: string) => Promise<number>): Worker;
    }>("src/count.ts");
    const counts = new Map<string, number>();
    const count = async (name: string) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return counts.get(name) as number;
    };
    const env = { GATEWAY_API_KEY: GATEWAY_KEY };
    expect((await send(createCountingProxy(count), 20, env)).status).toBe(200);
    const refused = await send(createCountingProxy(count), 1, env);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3600"]);
    vi.setSystemTime(midnight + 1000);
    expect((await send(createCountingProxy(count), 1, env)).status).toBe(200);
  });

  test("the page shows what is left", async () => {
    const { MessagesLeft } = await files<{
      MessagesLeft: FunctionComponent<{ baseURL: string; after: unknown }>;
    }>("left.tsx");
    openNetwork({
      "app.example.com": () =>
        Response.json({ budgets: [{ by: "user", remaining: 7, limit: 20, resetsAt: 0 }] }),
    });
    render(<MessagesLeft baseURL="https://app.example.com/api" after={1} />);
    await screen.findByText("7 of 20 messages left today");
  });
});

describe("a session that ends", () => {
  const files = writeFilesOfPage("docs/guides/save-and-resume-chats.md");

  interface Token {
    readonly value: string;
    readonly expiresAt: number;
  }

  /** A page whose tokens are `good`, each for a minute, until `lock()`. */
  async function open(options: EmulatorOptions = {}) {
    const gateway = openNetwork({}, options);
    let isSignedIn = true;
    const renewals: number[] = [];
    const fetch = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
      const request = new Request(input, init);
      if (request.headers.get("authorization") !== "Bearer good")
        return Response.json({ error: { message: "sign in" } }, { status: 401 });
      const address = request.url.replace("https://app.example.com/api", "https://gateway.example.com");
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${GATEWAY_KEY}`);
      return fetch(new Request(address, { method: request.method, headers, body: await request.text() }));
    });
    const { createSession } = await files<{ createSession(renew: () => Promise<Token | null>): Client }>(
      "session.ts",
    );
    const { Chat } = await files<{ Chat: FunctionComponent<{ signIn: () => Promise<void> }> }>("chat.tsx");
    const client = createSession(async () => {
      renewals.push(Date.now());
      return isSignedIn ? { value: "good", expiresAt: Date.now() + 60_000 } : null;
    });
    const signIn = async () => {
      isSignedIn = true;
    };
    render(
      <GatewayProvider client={client}>
        <Chat signIn={signIn} />
      </GatewayProvider>,
    );
    return {
      gateway,
      renewals,
      lock: () => {
        isSignedIn = false;
      },
    };
  }

  const ask = () => screen.getByRole<HTMLButtonElement>("button", { name: "Ask" });
  const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

  test("renews its token in silence, once for a minute", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { gateway, renewals } = await open();
    for (const wait of [0, 1000, 60_000]) {
      vi.setSystemTime(Date.now() + wait);
      const before = gateway.requests.length;
      press("Ask");
      await expect.poll(() => gateway.requests.length).toBe(before + 1);
      await expect.poll(() => ask().disabled).toBe(false);
    }
    expect(renewals).toHaveLength(2);
  });

  test("A session that ended while an answer broke off goes on with that answer after the sign-in", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { gateway, lock } = await open({ faults: (_, nth) => (nth === 1 ? "reset" : undefined) });
    press("Ask");
    await screen.findByRole("button", { name: "Try again" });
    lock();
    vi.setSystemTime(Date.now() + 60_000);
    press("Try again");
    await screen.findByRole("button", { name: "Sign in" });
    expect(gateway.requests).toHaveLength(1);
    press("Sign in");
    await expect.poll(() => screen.queryByRole("alert")).toBeNull();
    await expect.poll(() => ask().disabled).toBe(false);
    expect([screen.getAllByText("user").length, gateway.requests.length]).toEqual([1, 2]);
  });

  test("keeps the question until the user has signed in again, and asks the gateway once", async () => {
    const { gateway, lock } = await open();
    lock();
    press("Ask");
    expect((await screen.findByRole("alert")).textContent).toContain("Please sign in");
    expect(gateway.requests).toEqual([]);
    press("Sign in");
    await screen.findByText("assistant");
    expect(screen.getAllByText("user")).toHaveLength(1);
    expect(gateway.requests).toHaveLength(1);
  });
});

describe("the cost of a chat", () => {
  const files = writeFilesOfPage("docs/guides/costs.md");
  type Answer = Pick<ChatMessage, "id" | "role" | "content" | "model" | "usage" | "outcome">;
  const usage = { prompt_tokens: 100_000, completion_tokens: 50_000, total_tokens: 150_000 };
  const show = async (messages: readonly Answer[]) => {
    const { Cost } = await files<{ Cost: FunctionComponent<{ messages: readonly Answer[] }> }>("cost.tsx");
    return render(<Cost messages={messages} />).container.textContent;
  };
  const answer = (more: Partial<Answer>): Answer => ({
    id: "1",
    role: "assistant",
    content: "",
    outcome: "complete",
    usage,
    ...more,
  });

  test("adds up the responses, with less for what the gateway had in its cache", async () => {
    expect(await show([answer({ model: "alpha-v4.1-flash" })])).toBe("€0.075");
    const cached = { ...usage, prompt_cache_hit_tokens: 100_000 };
    const messages = [answer({ model: "alpha-v4.1-flash", usage: cached }), answer({ model: "unheard-of" })];
    expect(await show(messages)).toBe("€0.048 and more");
  });

  test("has the count of a response that streamed", async () => {
    const emulator = openNetwork();
    const chat = createChatStore(createClient(emulator.clientOptions), { model: "alpha-v4.1-flash" });
    const { messages } = await chat.send("Hello");
    expect(await show(messages)).toMatch(/^€0\.\d+$/);
  });
});

const filesAndUploads = writeFilesOfPage("docs/guides/files-and-uploads.md");

test("images of a chat are stored first, and the chat sends only their addresses", async () => {
  const { Composer } = await filesAndUploads<{ Composer: FunctionComponent }>("composer.tsx");
  const emulator = openNetwork();
  const stored = "https://app.example.com/images/1/2";
  vi.stubGlobal("fetch", async () => Response.json({ url: stored }));
  render(
    <GatewayProvider client={createClient(emulator.clientOptions)}>
      <Composer />
    </GatewayProvider>,
  );
  const png = Uint8Array.from(atob(PIXEL), (character) => character.charCodeAt(0));
  const images = [new File([png], "reef.png", { type: "image/png" })];
  fireEvent.change(screen.getByLabelText("Images"), { target: { files: images } });
  fireEvent.change(screen.getByLabelText("Message"), { target: { value: "What is it?" } });
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Send" });
  await expect.poll(() => button.disabled).toBe(false);
  fireEvent.submit(button.form as HTMLFormElement);
  expect(((await screen.findByAltText("Attached")) as HTMLImageElement).src).toBe(stored);
  await expect.poll(() => emulator.requests).toHaveLength(1);
  const sent = JSON.stringify(emulator.requests[0]?.body);
  expect([sent.includes(stored), sent.includes("base64")]).toEqual([true, false]);
});

/** An image of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
