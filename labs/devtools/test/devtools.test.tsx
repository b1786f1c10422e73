import {
  type Client,
  completeChat,
  createClient,
  defineTool,
  generateImages,
  streamChat,
} from "@sluice/core";
import { devtoolsFetch, SluiceDevtools, SluiceDevtoolsPanel } from "@sluice/devtools";
import { createEmulator, type Emulator, type EmulatorOptions } from "@sluice/emulator";
import type { Prices } from "@sluice/prices";
import { GatewayProvider, useChatStream } from "@sluice/react";
import { createChatStore } from "@sluice/stores";
import { act, cleanup, fireEvent, render, waitFor, within } from "@testing-library/react";
import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { stoppedClock } from "../../../packages/core/test/support/gateway.js";
import { createTestClock } from "../../../tests/support/test-clock.ts";

afterEach(cleanup);

const question = {
  model: "delta-5.3",
  messages: [{ role: "user", content: "Why is the sky blue?" }],
} as const;
const imageRequest = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;

/** Opens the panel for a client of an emulator, whose journal lists the billed requests. */
async function open({ prices, ...options }: EmulatorOptions & { readonly prices?: Prices } = {}) {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, ...options });
  const clock = stoppedClock();
  const fetch = devtoolsFetch(emulator.fetch);
  const client = createClient({
    ...emulator.clientOptions,
    fetch,
    clock,
    random: () => 0,
    gateway: { includeUsage: true },
  });
  render(<SluiceDevtools client={client} prices={prices} defaultOpen />);
  const panel = await openPanel();
  return { emulator, clock, client, ...panel };
}

async function openPanel() {
  const shadow = await waitFor(() => {
    const root = document.querySelector("sluice-devtools")?.shadowRoot;
    if (!root?.querySelector("section")) throw new Error("the panel is not there yet");
    return root;
  });
  const view = within(shadow as unknown as HTMLElement);
  return {
    shadow,
    view,
    show: (name: string) => fireEvent.click(view.getByRole("tab", { name })),
    press: (name: string) => fireEvent.click(view.getByRole("button", { name })),
    text: () => shadow.querySelector("section")?.textContent ?? "",
  };
}

const sendMessage = async (client: Client): Promise<unknown> =>
  streamChat(client, question)
    .result()
    .catch(() => {});
const paint = async (client: Client): Promise<unknown> =>
  generateImages(client, imageRequest).catch(() => {});
const calls = { "a chat": sendMessage, "an image": paint };

/** Counts the requests that a gateway would bill. */
const countBilled = ({ requests }: Emulator) =>
  requests.filter(({ method, status }) => method === "POST" && status === 200).length;

/** Reads the names and values of the first list of details. */
function readDetails(shadow: ShadowRoot): Record<string, string> {
  const list = shadow.querySelector("dl");
  const readTexts = (name: string) =>
    [...(list?.querySelectorAll(name) ?? [])].map((it) => it.textContent ?? "");
  const values = readTexts("dd");
  return Object.fromEntries(readTexts("dt").map((name, at) => [name, values[at] ?? ""]));
}

describe("a fault on a call shows what the user saw, if it was retried, and what the gateway billed", () => {
  const repeatedWell = { Outcome: "complete", "User sees": "the response", "App knows": "billed" };
  test.each([
    ["Cut", "a chat", { Outcome: "truncated", Repeated: "no", "App knows": "may be billed" }, 1],
    ["Stall", "a chat", { Outcome: "error", Repeated: "no", "App knows": "may be billed" }, 1],
    ["429", "a chat", { ...repeatedWell, Repeated: "once" }, 1],
    ["500", "a chat", { ...repeatedWell, Repeated: "once" }, 1],
    ["Lost response", "a chat", { ...repeatedWell, Repeated: "once" }, 2],
    ["Offline", "a chat", { Outcome: "error", Repeated: "2 times", "App knows": "may be billed" }, 0],
    ["429", "an image", { Outcome: "complete", Repeated: "once", "App knows": "billed" }, 1],
    ["500", "an image", { Outcome: "error", Repeated: "no", "App knows": "may be billed" }, 0],
    ["Lost response", "an image", { Outcome: "error", Repeated: "no", "App knows": "may be billed" }, 1],
  ] as const)("%s on %s", async (fault, call, expected, billed) => {
    const { emulator, clock, client, shadow, show, press } = await open();
    show("Faults");
    press(fault);
    await act(() => clock.advanceUntil(calls[call](client), 1000));
    await waitFor(() => expect(readDetails(shadow)).toMatchObject(expected));
    expect(countBilled(emulator)).toBe(billed);
    const bill = billed === 0 ? "nothing billed" : `${billed} billed`;
    expect(readDetails(shadow)["Bill"]).toMatch(new RegExp(`: ${bill}$`));
  });
});

test.each([
  ["responds with 500", { script: { replies: [{ faults: ["500"] }] } }],
  ["breaks the connection", { faults: () => "refuse" as const }],
])("A request to a server that %s may be billed", async (_, options) => {
  const { client, clock, view, shadow } = await open(options);
  await act(() => clock.advanceUntil(paint(client), 1000));
  await waitFor(() => expect(shadow.querySelector(".row")?.textContent).toContain("error"));
  fireEvent.click(view.getByRole("button", { name: /gamma-image/ }));
  const bill = "1 request left the page: 1 may be billed";
  expect(readDetails(shadow)).toMatchObject({ "App knows": "may be billed", Bill: bill });
});

test("A key that the proxy bills once is counted once", async () => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const offerFeatures = async (request: Request) => {
    const response = await emulator.fetch(request);
    response.headers.set("x-sluice-features", "resumable-streams, idempotency");
    return response;
  };
  const client = createClient({
    baseURL: "https://gateway.test",
    fetch: devtoolsFetch(offerFeatures),
    random: () => 0,
  });
  render(<SluiceDevtools client={client} defaultOpen />);
  const { shadow, show, press } = await openPanel();
  show("Faults");
  press("Lost response");
  await act(() => sendMessage(client));
  const bill = "2 requests left the page under one key, which the proxy bills once: 1 billed";
  await waitFor(() => expect(readDetails(shadow)).toMatchObject({ Outcome: "complete", Bill: bill }));
});

test.each([1, 7, 1000])("Responses pass unchanged in chunks of %i bytes", async (size) => {
  const sent = ": hello\r\n\r\ndata: a\ndata: “b”\n\n\n\ndata: c\r\n\r\ndata: [DONE]";
  const bytes = new TextEncoder().encode(sent);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
  const stream = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
  const headers = { "content-type": "text/event-stream", "x-request-id": "r1" };
  const fetch = devtoolsFetch(async () => new Response(stream, { status: 201, headers }));
  const response = await fetch?.(new Request("https://gateway.test/v1/chat/completions"));
  expect([response?.status, response?.headers.get("x-request-id")]).toEqual([201, "r1"]);
  expect(await response?.text()).toBe(sent);
});

test("An armed fault affects one request, or with “Every time” all requests until it is switched off", async () => {
  const { clock, client, emulator, view, show, press } = await open();
  const attempt = () => act(() => clock.advanceUntil(paint(client), 1000));
  const isArmed = () => view.getByRole("button", { name: "500" }).getAttribute("aria-pressed");
  show("Faults");
  press("500");
  expect(isArmed()).toBe("true");
  await attempt();
  await waitFor(() => expect(isArmed()).toBe("false"));
  fireEvent.click(view.getByRole("checkbox", { name: "Every time" }));
  press("500");
  await attempt();
  await attempt();
  expect(isArmed()).toBe("true");
  expect(emulator.requests).toEqual([]);
  press("500");
  await attempt();
  expect(emulator.requests).toHaveLength(1);
});

test("Offline breaks an open response", async () => {
  const { client, show, press, shadow, clock } = await open({ chat: () => "a ".repeat(500) });
  const stream = streamChat(client, question);
  await stream[Symbol.asyncIterator]().next();
  show("Faults");
  press("Offline");
  await act(() =>
    clock.advanceUntil(
      stream.result().catch(() => {}),
      1000,
    ),
  );
  show("Calls");
  await waitFor(() => expect(shadow.querySelector(".row")?.textContent).toContain("truncated"));
});

test("A call shows its attempts, frames and usage, and its texts only on a click", async () => {
  const { client, view, press, text, show, shadow } = await open({ chat: () => "It scatters." });
  await act(() => sendMessage(client));
  await waitFor(() => expect(shadow.querySelector(".row")?.textContent).toContain("complete"));
  fireEvent.click(view.getByRole("button", { name: /delta-5.3/ }));
  expect(view.getByRole("list", { name: "Attempts" }).textContent).toContain("Attempt 1: 200");
  expect(view.getByRole("table", { name: "Frames" }).querySelectorAll("tr").length).toBeGreaterThan(3);
  expect(text()).not.toMatch(/sky|scatte/);
  press("Show content");
  expect(text()).toMatch(/sky.*scatte/);
  show("Usage");
  expect(view.getByRole("table", { name: "Usage" }).textContent).toContain("delta-5.3");
});

describe("the cost of calls", () => {
  const prices: Prices = {
    currency: "EUR",
    models: { "delta-5.3": { input: 1_000_000, output: 2_000_000 }, [imageRequest.model]: { image: 0.03 } },
  };
  const findLastRow = (shadow: ShadowRoot) => shadow.querySelector(".row")?.textContent ?? "";

  test("Each call shows its cost by the app's prices, and the list shows their sum", async () => {
    const { client, shadow, text, view } = await open({ prices });
    await act(() => paint(client));
    await waitFor(() => expect(findLastRow(shadow)).toContain("€0.03"));
    expect(text()).toContain("This call costs €0.03.");
    const { usage } = await act(() => completeChat(client, question));
    const cost = (usage?.prompt_tokens ?? 0) + 2 * (usage?.completion_tokens ?? 0);
    expect(cost).toBeGreaterThan(0);
    await waitFor(() => expect(findLastRow(shadow)).toContain(`€${cost}.00`));
    expect(text()).toContain(`These calls cost €${cost}.03.`);
    fireEvent.click(view.getByRole("button", { name: /delta-5.3/ }));
    expect(readDetails(shadow)["Cost"]).toBe(`€${cost}.00`);
  });

  test("A call with unknown cost says why, and the sum says that it is incomplete", async () => {
    const { client, shadow, text, clock } = await open({
      prices,
      script: { replies: [{ faults: ["500"], prompt: "A reef" }] },
    });
    await act(() => completeChat(client, question));
    await act(() => clock.advanceUntil(paint(client), 1000));
    await waitFor(() => expect(findLastRow(shadow)).toContain("not reported"));
    expect(text()).toMatch(/These calls cost €\d+\.00, and 1 call of unknown cost: not reported\./);
    await act(() => completeChat(client, { ...question, model: "alpha-v4.1-flash" }));
    await waitFor(() => expect(findLastRow(shadow)).toContain("the model has no prices"));
    expect(text()).toContain("and 2 calls of unknown cost");
  });

  test("A custom currency is shown by its name", async () => {
    const { client, text } = await open({ prices: { ...prices, currency: "credits" } });
    await act(() => paint(client));
    await waitFor(() => expect(text()).toContain("This call costs 0.03 credits."));
  });

  test("Without prices a call shows only its tokens", async () => {
    const { client, shadow, text, view } = await open();
    await act(() => sendMessage(client));
    await waitFor(() => expect(findLastRow(shadow)).toContain("complete"));
    fireEvent.click(view.getByRole("button", { name: /delta-5.3/ }));
    expect(readDetails(shadow)).not.toHaveProperty("Cost");
    expect(Number(readDetails(shadow)["Tokens"])).toBeGreaterThan(0);
    expect(text()).not.toContain("cost");
  });
});

test("A key is never shown, even if the gateway repeats it", async () => {
  const key = "sk-canary-0123456789";
  const fetch = async () => Response.json({ error: { message: `Wrong key ${key}` } }, { status: 401 });
  const options = { baseURL: "https://gateway.test", apiKey: key, dangerouslyAllowBrowser: true };
  const client = createClient({ ...options, fetch: devtoolsFetch(fetch) });
  render(<SluiceDevtools client={client} defaultOpen />);
  const { shadow, view, press } = await openPanel();
  await act(() => sendMessage(client));
  await waitFor(() => expect(shadow.querySelector(".row")?.textContent).toContain("error"));
  fireEvent.click(view.getByRole("button", { name: /delta-5.3/ }));
  press("Show content");
  expect(shadow.innerHTML).toContain("Wrong key [redacted]");
  expect(shadow.innerHTML).not.toContain("canary");
});

test("The panel shows the last 200 calls, and how many were dropped", async () => {
  const { client, view, text } = await open();
  const refuse = () => completeChat(client, { ...question, max_tokens: 0 }).catch(() => {});
  await act(async () => {
    for (let count = 0; count < 203; count++) await refuse();
  });
  await waitFor(() => expect(view.getByRole("list", { name: "Calls" }).children).toHaveLength(200));
  expect(text()).toContain("3 older calls are no longer stored.");
});

test("A call of a chat leads to its message in the app, and other calls have no message", async () => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient({ ...emulator.clientOptions, clock: createTestClock() });
  const shown: unknown[] = [];
  render(<SluiceDevtoolsPanel client={client} onShowMessage={(...message) => shown.push(message)} />);
  const { view, press } = await openPanel();
  const chat = createChatStore(client, { id: "reef", model: "delta-5.3" });
  const { messages } = await act(() => chat.send("Why is the sky blue?"));
  await act(() => paint(client));
  await waitFor(() => expect(view.getByRole("list", { name: "Calls" }).children).toHaveLength(2));
  press("Message");
  expect(shown).toEqual([[messages.at(-1)?.id, "reef"]]);
});

test("The panel opens with the call of a message, and says so if it was not recorded", async () => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient({ ...emulator.clientOptions, clock: createTestClock() });
  const { rerender } = render(<SluiceDevtoolsPanel client={client} />);
  const { show } = await openPanel();
  const chat = createChatStore(client, { id: "reef", model: "delta-5.3" });
  const { messages } = await act(() => chat.send("Why is the sky blue?"));
  await act(() => paint(client));
  show("Usage");
  const showMessage = async (messageId: string | undefined) => {
    rerender(<SluiceDevtoolsPanel key={messageId} client={client} messageId={messageId} />);
    return (await openPanel()).view;
  };
  const open = (await showMessage(messages.at(-1)?.id)).getAllByRole("button", { expanded: true });
  expect(open.map(({ textContent }) => textContent)).toEqual([expect.stringContaining("delta-5.3")]);
  (await showMessage("unknown")).getByText("The call of this message was not recorded.");
});

function Chat({ onRender }: { readonly onRender: (chat: ReturnType<typeof useChatStream>) => void }) {
  onRender(useChatStream({ id: "reef", model: "delta-5.3" }));
  return null;
}

test("The chats of the hooks are listed with their state, without their texts", async () => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient({ ...emulator.clientOptions, clock: createTestClock() });
  let chat: ReturnType<typeof useChatStream> | undefined;
  render(
    <GatewayProvider client={client}>
      <Chat
        onRender={(rendered) => {
          chat = rendered;
        }}
      />
      <SluiceDevtools defaultOpen />
    </GatewayProvider>,
  );
  const { view, show, text } = await openPanel();
  await act(() => chat?.send("Why is the sky blue?"));
  show("Chats");
  const list = view.getByRole("list", { name: "Chats and images" });
  await waitFor(() => expect(list.textContent).toMatch(/chat reef ready2 messages.*last response complete/));
  expect(text()).not.toContain("sky");
  show("Faults");
  expect(text()).toContain("devtoolsFetch()");
});

test("A tool run is listed with its outcome, without its arguments", async () => {
  const call = { name: "look", arguments: { place: "canary" } };
  const script = {
    replies: [
      { tool: "look", content: "Blue." },
      { prompt: "sky", toolCalls: [call] },
    ],
  };
  const { client, view, show, text } = await open({ script });
  const parameters = v.object({ place: v.string() });
  const look = defineTool({
    name: "look",
    description: "Looks",
    inputSchema: parameters,
    execute: () => "blue",
  });
  const chat = createChatStore(client, { id: "reef", model: "alpha-v4.1-flash", tools: [look] });
  await act(() => chat.send("Which colour has the sky?"));
  show("Chats");
  await waitFor(() =>
    expect(view.getByRole("table", { name: "Runs of tools" }).textContent).toMatch(/look.*done.*reef/),
  );
  expect(text()).not.toContain("canary");
});

test("Arrow keys move between tabs, and Escape closes the panel and focuses its button", async () => {
  const { view, shadow } = await open();
  const first = view.getByRole("tab", { name: "Calls" });
  first.focus();
  fireEvent.keyDown(first, { key: "ArrowLeft" });
  expect(shadow.activeElement?.textContent).toBe("Usage");
  expect(view.getByRole("tab", { selected: true }).textContent).toBe("Usage");
  fireEvent.keyDown(view.getByRole("tab", { selected: true }), { key: "Escape" });
  expect(view.queryByRole("region")).toBeNull();
  expect(shadow.activeElement?.textContent).toContain("Sluice Devtools");
});

test("The panel opens again with the view that was open last", async () => {
  const { view, show, press } = await open();
  show("Faults");
  press("Close");
  press("Sluice Devtools");
  await view.findByRole("tab", { name: "Faults", selected: true });
});
