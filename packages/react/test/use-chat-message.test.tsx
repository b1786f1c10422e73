import { defineTool } from "@sluice/core";
import { GatewayProvider, useChatMessage, useChatStream } from "@sluice/react";
import { act, render, screen } from "@testing-library/react";
import { memo, type ReactNode, StrictMode } from "react";
import { afterEach, expect, test } from "vitest";
import {
  createTestClient,
  frame,
  openBody,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";

type Chat = ReturnType<typeof useChatStream>;

/** Number of renders of each component below. */
const renders: Record<string, number> = {};
/** The chat of the last render. */
const held: { chat?: Chat } = {};
/** Labels of the components whose tool ran. */
const ran: string[] = [];
afterEach(() => {
  for (const name of Object.keys(renders)) delete renders[name];
});

function count(name: string): void {
  renders[name] = (renders[name] ?? 0) + 1;
}

const Row = memo(function Row({ messageId, index }: { messageId: string; index: number }) {
  count(`row ${index}`);
  return <p>{useChatMessage("support", messageId)?.content}</p>;
});

const Badge = memo(function Badge() {
  return <output>{useChatStream({ id: "support", model: "delta-5.3" }).status}</output>;
});

const List = memo(function List({ ids }: { ids: string }) {
  count("list");
  return ids.split(" ").map((id, index) => id && <Row key={id} messageId={id} index={index} />);
});

function Page() {
  const chat = useChatStream({ id: "support", model: "delta-5.3" });
  held.chat = chat;
  return <List ids={chat.messages.map(({ id }) => id).join(" ")} />;
}

function Counter({ label }: { label: string }) {
  const add = defineTool({
    name: "add",
    inputSchema: { type: "object" },
    needsApproval: true,
    execute: () => void ran.push(label),
  });
  held.chat = useChatStream({ model: "alpha-v4.1-flash", tools: [add] });
  return <output>{held.chat.status}</output>;
}

/** Renders a chat whose list knows only the ids of messages. Each row subscribes to its own message. */
function renderApp(wrap: (content: ReactNode) => ReactNode = (content) => content) {
  const clock = stoppedClock();
  const connections = [openBody(), openBody()];
  const { client } = createTestClient((_, nth) => streamResponse(connections[nth - 1]?.body ?? ""), {
    clock,
  });
  const tree = (content: ReactNode) => wrap(<GatewayProvider client={client}>{content}</GatewayProvider>);
  // the badge shows the status of a chat that the page creates after it
  const view = render(
    tree(
      <>
        <Badge />
        <Page />
      </>,
    ),
  );
  return { clock, connections, view, removePage: () => view.rerender(tree(<Badge />)) };
}

const listRows = () => screen.getAllByRole("paragraph").map((row) => row.textContent);
const readStatus = () => screen.getByRole("status").textContent;

test("each row renders only for its own message", async () => {
  const { clock, connections } = renderApp();
  const [one, two] = connections;
  expect(readStatus()).toBe("ready");
  await act(async () => {
    const turn = held.chat?.send("Hello");
    one?.send(streamText("Hi"));
    one?.end();
    await turn;
  });
  await act(async () => {
    void held.chat?.send("And?");
    await two?.wanted();
  });
  expect(readStatus()).toBe("submitted");
  const before = { ...renders };
  for (const content of ["One", " two", " three"])
    await act(async () => {
      two?.send(frame({ content }));
      await two?.wanted();
      await clock.advance(50);
    });
  expect(readStatus()).toBe("streaming");
  expect(listRows()).toEqual(["Hello", "Hi", "And?", "One two three"]);
  expect(renders["row 3"]).toBe((before["row 3"] ?? 0) + 3);
  for (const quiet of ["row 0", "row 1", "row 2", "list"]) expect(renders[quiet]).toBe(before[quiet]);
});

test("a response continues in StrictMode, and after the component that sent the message is removed", async () => {
  const { clock, connections, removePage } = renderApp((content) => <StrictMode>{content}</StrictMode>);
  const [one] = connections;
  await act(async () => {
    void held.chat?.send("Hello");
    await one?.wanted();
    one?.send(frame({ content: "Hi" }));
    await one?.wanted();
    await clock.advance(50);
  });
  expect(listRows()).toEqual(["Hello", "Hi"]);
  removePage();
  expect(readStatus()).toBe("streaming");
  await act(async () => {
    one?.send(streamText("!"));
    one?.end();
    await clock.advance(50);
  });
  expect(readStatus()).toBe("ready");
});

test("tools are read when they are used: an approval runs the function of the latest render", async () => {
  const { client } = createTestClient((_, nth) =>
    streamResponse(nth === 1 ? streamCalls({ a: ["add", "{}"] }) : streamText("Done")),
  );
  const page = (label: string) => (
    <GatewayProvider client={client}>
      <Counter label={label} />
    </GatewayProvider>
  );
  const { rerender } = render(page("first"));
  await act(async () => void (await held.chat?.send("Add")));
  expect(readStatus()).toBe("requires-action");
  rerender(page("second"));
  await act(async () => void (await held.chat?.approve("a")));
  expect(ran).toEqual(["second"]);
  expect(readStatus()).toBe("ready");
});
