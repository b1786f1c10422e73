import {
  GatewayProvider,
  type Presence,
  useAsset,
  useChatMessage,
  useChatStream,
  useImages,
  useVideoTask,
} from "@sluice/react";
import type { ChatStatus } from "@sluice/stores";
import { act, render, screen } from "@testing-library/react";
import * as React from "react";
import { memo, type ReactNode, StrictMode, Suspense, useState } from "react";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";

/*
 * React cleans up the effects of a hidden `<Activity>` and keeps its state. When it is shown again, a hook must still show
 * its data, and its requests must continue.
 */

/** Undefined before React 19.2, where the tests with it are skipped. */
const { Activity } = React as Partial<typeof React>;
const imageURL = "https://cdn.test/reef.png";
const present: Presence = { absence: undefined, subscribe: () => () => {} };
/** Longer than any store waits for another component. */
const LONG = 20 * 60_000;

function createGateway() {
  const clock = stoppedClock();
  // lets stores without components close their channels to other tabs
  onTestFinished(() => clock.advance(1000));
  const connection = openBody();
  const held: ((response: Response) => void)[] = [];
  const { client, requests } = createTestClient(
    ({ url, method }) => {
      if (url.endsWith("chat/completions")) return streamResponse(connection.body);
      if (url.endsWith("GetAsset")) return Response.json({ Id: "a-1", Status: "Active" });
      if (method === "GET")
        return Response.json({
          code: "success",
          data: { task_id: "t-1", status: "IN_PROGRESS", progress: "40%" },
        });
      return new Promise<Response>((resolve) => held.push(resolve));
    },
    {
      clock,
      baseURL: `https://${crypto.randomUUID()}.test`,
      timeout: { firstChunkMs: LONG * 3, chunkMs: LONG * 3 },
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  const respond = (body: object) =>
    act(async () => {
      held.shift()?.(Response.json(body));
      await settled();
    });
  return { client, clock, connection, requests, respond };
}

/** A page that can hide its part, for as long as nothing waits. */
function renderPage(children: ReactNode, Mode: typeof StrictMode | typeof React.Fragment = React.Fragment) {
  const { client, ...rest } = createGateway();
  const app = (mode: "visible" | "hidden" | "gone") => (
    <Mode>
      <GatewayProvider client={client}>
        {Activity && mode !== "gone" && <Activity mode={mode}>{children}</Activity>}
      </GatewayProvider>
    </Mode>
  );
  const view = render(app("visible"));
  const to = (mode: "visible" | "hidden" | "gone") =>
    act(async () => {
      view.rerender(app(mode));
      await settled();
    });
  const advance = (ms: number) => act(() => rest.clock.advance(ms));
  return {
    ...rest,
    to,
    advance,
    hideFor: async (ms: number) => {
      await to("hidden");
      await advance(ms);
    },
    sendMessage: (text: string) =>
      act(async () => {
        await rest.connection.wanted();
        rest.connection.send(text);
        await rest.connection.wanted();
        await rest.clock.advance(50);
      }),
  };
}

function View({ shown, act: press }: { shown: string; act: () => void }) {
  return (
    <button type="button" onClick={press}>
      {shown}
    </button>
  );
}

const shown = () => screen.getByRole("button").textContent;
const press = () =>
  act(async () => {
    screen.getByRole("button").click();
    await settled();
  });

function Chat({ id }: { id?: string | undefined }) {
  const { messages, status, send } = useChatStream({ model: "delta-5.3", ...(id && { id }) });
  const texts = messages.map(({ content }) => content).join(", ");
  return <View shown={`${status satisfies ChatStatus}: ${texts}`} act={() => void send("Why?")} />;
}

function Painter({ id }: { id?: string | undefined }) {
  const { status, data, generate } = useImages({ model: "gamma-image-5-0-260128", id });
  return (
    <View
      shown={`${status}: ${data?.images[0]?.url}`}
      act={() => void generate({ prompt: "A reef", size: "2048x2048" })}
    />
  );
}

function Video() {
  const { status, handle, progress, create } = useVideoTask({ presence: present });
  return (
    <View
      shown={`${status}: ${handle?.id} ${progress}`}
      act={() => void create({ model: "beta3.0-video", input: { prompt: "A reef" } })}
    />
  );
}

function Asset() {
  const { status, data, create } = useAsset({ groupId: "group-1", presence: present });
  return (
    <View shown={`${status}: ${data?.uri}`} act={() => void create(new URL(imageURL), { name: "Reef" })} />
  );
}

describe.skipIf(!Activity)("a hidden Activity", () => {
  for (const id of [undefined, "a"]) {
    const named = id ? "with an id" : "without an id";

    test(`keeps a chat ${named}, and its response continues`, async () => {
      const { hideFor, sendMessage, to, connection, requests } = renderPage(<Chat id={id} />);
      await press();
      await sendMessage(frame({ content: "Be" }));
      await hideFor(LONG);
      expect(connection.cancelled).toBe(false);
      await sendMessage(frame({ content: "cause" }));
      await to("visible");
      expect(shown()).toBe("streaming: Why?, Because");
      await sendMessage(frame({}, "stop") + DONE);
      await hideFor(LONG);
      await to("visible");
      expect([shown(), requests.length]).toEqual(["ready: Why?, Because", 1]);
    });

    test(`keeps images ${named}, which are billed`, async () => {
      const { hideFor, to, respond, requests } = renderPage(<Painter id={id} />);
      await press();
      await hideFor(LONG);
      expect(requests[0]?.signal.aborted).toBe(false);
      await respond({
        model: "gamma-image-5-0-260128",
        created: 1,
        data: [{ url: imageURL, size: "2048x2048" }],
      });
      await hideFor(LONG);
      await to("visible");
      expect([shown(), requests.length]).toEqual([`success: ${imageURL}`, 1]);
    });
  }

  test("keeps a chat and images in StrictMode", async () => {
    const { hideFor, sendMessage, to, connection } = renderPage(<Chat />, StrictMode);
    await press();
    await sendMessage(frame({ content: "Be" }));
    await hideFor(LONG);
    await to("visible");
    expect([shown(), connection.cancelled]).toEqual(["streaming: Why?, Be", false]);
  });

  test("keeps a video task during its creation, and polls again when it is shown", async () => {
    const { hideFor, advance, to, respond, requests } = renderPage(<Video />);
    const queries = () => requests.filter(({ method }) => method === "GET").length;
    await press();
    await hideFor(5000);
    await respond({ id: "t-1", model: "beta3.0-video", status: "queued", created_at: 1_755_000_000 });
    await advance(60_000);
    const whileHidden = queries();
    await to("visible");
    await advance(60_000);
    expect(shown()).toBe("pending: t-1 0.4");
    expect([requests.length - queries(), queries() > whileHidden]).toEqual([1, true]);
  });

  test("keeps an asset during its registration", async () => {
    const { hideFor, advance, to, respond, requests } = renderPage(<Asset />);
    await press();
    await hideFor(5000);
    await respond({ Id: "a-1" });
    await to("visible");
    await advance(3000);
    expect(shown()).toBe("success: asset://a-1");
    expect(requests.filter(({ url }) => url.endsWith("CreateAsset"))).toHaveLength(1);
  });

  test("ends a chat and images without an id soon after it is removed, also if it was hidden", async () => {
    for (const wasHidden of [false, true]) {
      const chat = renderPage(<Chat />);
      await press();
      await chat.sendMessage(frame({ content: "Be" }));
      if (wasHidden) await chat.hideFor(LONG);
      await chat.to("gone");
      await chat.advance(1000);
      expect(chat.connection.cancelled).toBe(true);
      const images = renderPage(<Painter />);
      await press();
      if (wasHidden) await images.hideFor(LONG);
      await images.to("gone");
      expect(images.requests[0]?.signal.aborted).toBe(false);
      await images.advance(1000);
      expect(images.requests[0]?.signal.aborted).toBe(true);
    }
  });
});

// `memo`: renders only for its message, and not with its parent
const Row = memo(function Row() {
  return <i>{useChatMessage("a", "m-1")?.content ?? "no message"}</i>;
});

function Greeting() {
  const { messages } = useChatStream({
    id: "a",
    model: "delta-5.3",
    initialMessages: [{ id: "m-1", role: "assistant", content: "Hi" }],
  });
  return <b>{messages.length}</b>;
}

function RowThenChat() {
  const [isOpen, open] = useState(false);
  return (
    <>
      <Row />
      <View shown="open" act={() => open(true)} />
      {isOpen && <Greeting />}
    </>
  );
}

test("a row that mounted before its chat shows the chat", async () => {
  const { client } = createGateway();
  render(
    <GatewayProvider client={client}>
      <RowThenChat />
    </GatewayProvider>,
  );
  expect(screen.getByText("no message")).toBeTruthy();
  await press();
  expect(screen.getByText("Hi")).toBeTruthy();
});

const never = new Promise<void>(() => {});

function Suspending() {
  const [isSuspended, suspend] = useState(false);
  if (isSuspended) throw never;
  return <input aria-label="suspend" onFocus={() => suspend(true)} />;
}

test("a component that suspends again keeps its response, and ends it if it is removed before it resumes", async () => {
  const { client, clock, connection } = createGateway();
  const app = (content: ReactNode) => (
    <GatewayProvider client={client}>
      <Suspense fallback={<p>loading</p>}>{content}</Suspense>
    </GatewayProvider>
  );
  const { rerender } = render(
    app(
      <>
        <Chat />
        <Suspending />
      </>,
    ),
  );
  await press();
  await act(async () => {
    connection.send(frame({ content: "Be" }));
    await connection.wanted();
  });
  act(() => screen.getByRole("textbox").focus());
  expect(screen.getByText("loading")).toBeTruthy();
  await act(() => clock.advance(LONG));
  expect(connection.cancelled).toBe(false);
  rerender(app(<p>another route</p>));
  await act(() => clock.advance(1000));
  expect(connection.cancelled).toBe(true);
});
