import { type Client, createClient } from "@sluice/core";
import { GatewayProvider, type UseChatStreamOptions, useChatStream, useClient } from "@sluice/react";
import { memoryStorage } from "@sluice/stores";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { type ReactNode, StrictMode, useEffect, useMemo, useState } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { describe, expect, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";

const hello = frame({ content: "Hel" }) + frame({ content: "lo" }) + frame({}, "stop") + DONE;
let commits = 0;

function Chat(props: Partial<UseChatStreamOptions> & { label?: string }) {
  const { label = "chat", ...options } = props;
  const chat = useChatStream({ model: "delta-5.3", ...options } as UseChatStreamOptions);
  commits += 1;
  return (
    <section aria-label={label}>
      <output>{chat.status}</output>
      <p>{chat.messages.map(({ role, content }) => `${role}: ${content}`).join("; ")}</p>
      <i>{chat.error instanceof Error ? chat.error.name : "no error"}</i>
      <button type="button" onClick={() => void chat.send("Hello?")}>
        send
      </button>
      <button type="button" onClick={chat.stop}>
        stop
      </button>
      <button type="button" onClick={() => void chat.regenerate()}>
        regenerate
      </button>
      <button type="button" onClick={chat.reset}>
        clear
      </button>
    </section>
  );
}

function Counted({ onFinish }: { onFinish: (text: string) => void }) {
  const [count, setCount] = useState(1);
  return (
    <>
      <button type="button" onClick={() => setCount(count + 1)}>
        count
      </button>
      <Chat
        params={{ max_tokens: count }}
        onFinish={({ messages }) => onFinish(`${messages.at(-1)?.content} ${count}`)}
      />
    </>
  );
}

/** Copies the length of the response into a state of its own, as an effect of each change. */
function Effects() {
  const { messages } = useChatStream({ model: "delta-5.3", id: "shared" });
  const [length, setLength] = useState(0);
  useEffect(() => setLength(messages.at(-1)?.content.length ?? 0), [messages]);
  return <b>{length}</b>;
}

let held: ReturnType<typeof useChatStream> | undefined;

function Held() {
  held = useChatStream({ model: "delta-5.3" });
  return <output>{held.status}</output>;
}

function Versions() {
  const { messages, getThread, send, regenerate } = useChatStream({ model: "delta-5.3" });
  const all = useMemo(() => (messages.length > 0 ? getThread() : []), [messages, getThread]);
  return (
    <>
      <p>{all.map(({ message }) => message.content).join(", ")}</p>
      <button type="button" onClick={() => void send("Hello?").then(() => regenerate())}>
        send
      </button>
    </>
  );
}

function Look({ onClient }: { onClient: (client: Client) => void }) {
  onClient(useClient());
  return null;
}

function press(name: string): void {
  fireEvent.click(screen.getByRole("button", { name }));
}

const readStatus = () => screen.getByRole("status").textContent;
const readThread = () => screen.getByRole("paragraph").textContent;

/** An app whose gateway holds the line until the test speaks. */
function renderLive(children: ReactNode = <Chat />, wrap: (app: ReactNode) => ReactNode = (app) => app) {
  const clock = stoppedClock();
  const connections = Array.from({ length: 3 }, openBody);
  const { client, requests } = createTestClient(
    (_, nth) => streamResponse(connections[nth - 1]?.body ?? ""),
    {
      clock,
    },
  );
  const app = (content: ReactNode) => wrap(<GatewayProvider client={client}>{content}</GatewayProvider>);
  const view = render(app(children));
  const [connection] = connections as [ReturnType<typeof openBody>];
  const show = (content: ReactNode) => view.rerender(app(content));
  return { clock, connection, connections, requests, show, unmount: view.unmount };
}

async function waitForText(
  connection: ReturnType<typeof openBody>,
  text: string,
  clock: ReturnType<typeof stoppedClock>,
) {
  await act(async () => {
    await connection.wanted();
    connection.send(text);
    await connection.wanted();
    await clock.advance(50);
  });
}

describe("useChatStream", () => {
  test("rendering sends nothing, and a response is shown as it grows until it is complete", async () => {
    const { clock, connection, requests } = renderLive();
    expect([readStatus(), requests.length]).toEqual(["ready", 0]);
    press("send");
    expect([readStatus(), readThread()]).toEqual(["submitted", "user: Hello?; assistant: "]);
    await waitForText(connection, frame({ content: "Hel" }), clock);
    expect([readStatus(), readThread()]).toEqual(["streaming", "user: Hello?; assistant: Hel"]);
    await waitForText(connection, frame({ content: "lo" }) + frame({}, "stop"), clock);
    await act(async () => {
      connection.send(DONE);
      await settled();
    });
    await waitFor(() =>
      expect([readStatus(), readThread()]).toEqual(["ready", "user: Hello?; assistant: Hello"]),
    );
  });

  test("getThread lists the versions that are not shown", async () => {
    const { client } = createTestClient((_, nth) =>
      streamResponse(frame({ content: `${nth}` }) + frame({}, "stop") + DONE),
    );
    render(
      <GatewayProvider client={client}>
        <Versions />
      </GatewayProvider>,
    );
    press("send");
    await waitFor(() => expect(readThread()).toBe("Hello?, 1, 2"));
  });

  test("StrictMode sends one request for each message", async () => {
    const { requests, clock, connection } = renderLive(<Chat />, (app) => <StrictMode>{app}</StrictMode>);
    press("send");
    await waitForText(connection, hello, clock);
    await waitFor(() => expect(readThread()).toBe("user: Hello?; assistant: Hello"));
    expect(requests).toHaveLength(1);
  });

  test("A change of the status is shown in the same task, so that nothing is clicked twice", async () => {
    renderLive(<Held />);
    const environment = globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean };
    environment.IS_REACT_ACT_ENVIRONMENT = false;
    try {
      void held?.send("Hello?");
      await Promise.resolve();
      expect(readStatus()).toBe("submitted");
      held?.stop();
      await Promise.resolve();
      expect(readStatus()).toBe("ready");
    } finally {
      environment.IS_REACT_ACT_ENVIRONMENT = true;
    }
  });

  test("a burst of a thousand deltas is committed once", async () => {
    const { clock, connection } = renderLive();
    press("send");
    await waitForText(connection, frame({ content: "." }), clock);
    const before = commits;
    await waitForText(connection, frame({ content: "." }).repeat(1000), clock);
    expect(commits - before).toBe(1);
    expect(readThread()).toHaveLength("user: Hello?; assistant: ".length + 1001);
  });

  test("Twenty components with effects show 6,000 deltas without an endless update", async () => {
    const { clock, connection } = renderLive(
      <StrictMode>
        <Chat id="shared" />
        {Array.from("abcdefghijklmnopqrst", (key) => (
          <Effects key={key} />
        ))}
      </StrictMode>,
    );
    press("send");
    await waitForText(connection, frame({ content: "." }), clock);
    const before = commits;
    for (let part = 0; part < 10; part += 1)
      await waitForText(connection, frame({ content: "." }).repeat(600), clock);
    // StrictMode renders each component twice
    expect(commits - before).toBeLessThanOrEqual(2 * 10);
    expect(screen.getAllByText("6001")).toHaveLength(20);
  });

  test("stop keeps the text, and the next message is sent", async () => {
    const { clock, connection, connections } = renderLive();
    press("send");
    await waitForText(connection, frame({ content: "Hel" }), clock);
    press("stop");
    await waitFor(() =>
      expect([readStatus(), readThread()]).toEqual(["ready", "user: Hello?; assistant: Hel"]),
    );
    expect(connection.cancelled).toBe(true);
    press("send");
    await waitForText(connections[1] as typeof connection, hello, clock);
    await waitFor(() =>
      expect(readThread()).toBe("user: Hello?; assistant: Hel; user: Hello?; assistant: Hello"),
    );
  });

  test("a truncated response is shown as an error with its text, and regenerate replaces it", async () => {
    const { clock, connection, connections } = renderLive();
    press("send");
    await waitForText(connection, frame({ content: "Hel" }), clock);
    await act(async () => connection.drop());
    await waitFor(() =>
      expect([readStatus(), readThread()]).toEqual(["error", "user: Hello?; assistant: Hel"]),
    );
    expect(screen.getByText("StreamError")).toBeTruthy();
    press("regenerate");
    await waitForText(connections[1] as typeof connection, hello, clock);
    await waitFor(() =>
      expect([readStatus(), readThread()]).toEqual(["ready", "user: Hello?; assistant: Hello"]),
    );
    press("clear");
    expect([readStatus(), readThread()]).toEqual(["ready", ""]);
  });

  test("the instructions of the latest render are sent, and are not in the thread", async () => {
    const { clock, connection, requests, show } = renderLive(<Chat instructions="Be brief." />);
    show(<Chat instructions={() => "Be kind."} />);
    press("send");
    await act(settled);
    await waitForText(connection, hello, clock);
    await waitFor(() => expect(readThread()).toBe("user: Hello?; assistant: Hello"));
    expect((await requests[0]?.json())?.messages).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hello?" },
    ]);
  });

  test("two components with one id show one stream", async () => {
    const { clock, connection, requests } = renderLive(
      <>
        <Chat id="a" label="left" />
        <Chat id="a" label="right" />
      </>,
    );
    fireEvent.click(screen.getAllByRole("button", { name: "send" })[0] as HTMLElement);
    await waitForText(connection, frame({ content: "Hel" }), clock);
    expect(screen.getAllByText("user: Hello?; assistant: Hel")).toHaveLength(2);
    expect(requests).toHaveLength(1);
  });

  test("two components without an id show a chat each", async () => {
    const { clock, connections } = renderLive(
      <>
        <Chat label="left" />
        <Chat label="right" />
      </>,
    );
    fireEvent.click(screen.getAllByRole("button", { name: "send" })[0] as HTMLElement);
    await waitForText(connections[0] as (typeof connections)[0], frame({ content: "Hel" }), clock);
    const texts = screen.getAllByRole("paragraph").map(({ textContent }) => textContent);
    expect(texts).toEqual(["user: Hello?; assistant: Hel", ""]);
  });

  test("two components with one id send with their own options", async () => {
    const reported: string[] = [];
    const chat = (label: string, model: string, max_tokens: number) => (
      <Chat
        {...({ id: "a", label, model, params: { max_tokens } } as Partial<UseChatStreamOptions>)}
        onFinish={() => reported.push(label)}
      />
    );
    const { clock, connections, requests, show } = renderLive(
      <>
        {chat("left", "delta-5.3", 1)}
        {chat("right", "alpha-v4.1-flash", 2)}
      </>,
    );
    const sends = screen.getAllByRole("button", { name: "send" });
    fireEvent.click(sends[0] as HTMLElement);
    await waitForText(connections[0] as (typeof connections)[0], frame({ content: "Hi" }), clock);
    // refused, as a response is under way: it changes nothing of the left one's turn
    fireEvent.click(sends[1] as HTMLElement);
    show(
      <>
        {chat("left", "delta-5.3", 3)}
        {chat("right", "alpha-v4.1-flash", 4)}
      </>,
    );
    await waitForText(connections[0] as (typeof connections)[0], frame({}, "stop") + DONE, clock);
    await waitFor(() => expect(reported).toEqual(["left"]));
    fireEvent.click(sends[1] as HTMLElement);
    await waitForText(connections[1] as (typeof connections)[0], hello, clock);
    await waitFor(() => expect(reported).toEqual(["left", "right"]));
    expect(await Promise.all(requests.map((request) => request.json()))).toMatchObject([
      { model: "delta-5.3", max_tokens: 1 },
      { model: "alpha-v4.1-flash", max_tokens: 4 },
    ]);
  });

  test("a chat with an id outlives its component: the stream continues and is found again", async () => {
    const { clock, connection, requests, show } = renderLive(<Chat id="a" />);
    press("send");
    await waitForText(connection, frame({ content: "Hel" }), clock);
    show(<p>another route</p>);
    await waitForText(connection, frame({ content: "lo" }), clock);
    show(<Chat id="a" />);
    expect(readThread()).toBe("user: Hello?; assistant: Hello");
    expect([requests.length, connection.cancelled]).toEqual([1, false]);
  });

  test("another id in the same component shows another chat and its stored messages", async () => {
    const storage = memoryStorage();
    const record = { message: { role: "user", content: "About b" }, parent: null, revision: 1 };
    await storage.write("chat/b", new Map([["1", record]]));
    const { show } = renderLive(<Chat id="a" storage={storage} />);
    await act(() => settled());
    show(<Chat id="b" storage={storage} />);
    await waitFor(() => expect(screen.getByRole("paragraph").textContent).toBe("user: About b"));
  });

  test("a chat without an id stops soon after its component is removed", async () => {
    const { clock, connection, unmount } = renderLive();
    press("send");
    await waitForText(connection, frame({ content: "Hel" }), clock);
    unmount();
    await clock.advance(500);
    expect(connection.cancelled).toBe(false);
    await clock.advance(500);
    expect(connection.cancelled).toBe(true);
  });

  test("callbacks and parameters are read when they are used", async () => {
    const finished: string[] = [];
    const { clock, connection, requests } = renderLive(<Counted onFinish={(text) => finished.push(text)} />);
    press("count");
    press("send");
    await waitForText(connection, frame({ content: "Hi" }), clock);
    press("count");
    await waitForText(connection, frame({}, "stop") + DONE, clock);
    await waitFor(() => expect(finished).toEqual(["Hi 3"]));
    expect(await requests[0]?.json()).toMatchObject({ max_tokens: 2 });
  });
});

describe("on a server", () => {
  const initialMessages = [{ id: "1", role: "assistant" as const, content: "Welcome" }];
  const { client } = createTestClient(() => streamResponse(hello));
  const app = (
    <GatewayProvider client={client}>
      <Chat id="ssr" initialMessages={initialMessages} />
    </GatewayProvider>
  );

  test("renders the initial messages, and hydrates without a warning", async () => {
    const html = renderToString(app);
    expect(html).toContain("assistant: Welcome");
    const container = document.createElement("div");
    container.innerHTML = html;
    const complaints: unknown[] = [];
    const before = commits;
    await act(async () => {
      hydrateRoot(container, app, { onRecoverableError: (error) => complaints.push(error) });
    });
    expect(complaints).toEqual([]);
    expect(container.textContent).toContain("assistant: Welcome");
    expect(commits - before).toBe(1);
  });
});

describe("useClient", () => {
  test("returns the provider's client", () => {
    const client = createClient({ baseURL: "https://gateway.test" });
    let seen: unknown;
    render(
      <GatewayProvider client={client}>
        <Look
          onClient={(given) => {
            seen = given;
          }}
        />
      </GatewayProvider>,
    );
    expect(seen).toBe(client);
  });

  test("throws an error that names the missing provider", () => {
    expect(() => renderToString(<Chat />)).toThrow(/GatewayProvider/);
  });
});
