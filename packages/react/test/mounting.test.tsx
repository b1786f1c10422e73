import { GatewayProvider, useChatMessage, useChatStream } from "@sluice/react";
import { act, render } from "@testing-library/react";
import { memo, useLayoutEffect } from "react";
import { expect, test } from "vitest";
import { createTestClient, stoppedClock } from "../../core/test/support/gateway.js";

let chat: ReturnType<typeof useChatStream>;

function Chat() {
  chat = useChatStream({ id: "a", model: "delta-5.3" });
  return null;
}

/** Notes what each commit shows, before an effect can mend it. */
function Row({ seen }: { seen: string[] }) {
  const text = useChatMessage("a", "m-1")?.content ?? "no message";
  useLayoutEffect(() => void seen.push(text));
  return null;
}

test("A component that mounts later starts with the current chat, not with an outdated state of other components", async () => {
  const { client } = createTestClient(() => new Response(null, { status: 500 }));
  const [first, second]: [string[], string[]] = [[], []];
  const page = (isOpen: boolean) => (
    <GatewayProvider client={client}>
      <Chat />
      <Row seen={first} />
      {isOpen && <Row seen={second} />}
    </GatewayProvider>
  );
  const { rerender } = render(page(false));
  await act(async () => chat.setMessages([{ id: "m-1", role: "user", content: "Hello" }]));
  expect(first.at(-1)).toBe("Hello");
  await act(async () => rerender(page(true)));
  expect([...new Set(second)]).toEqual(["Hello"]);
});

test("A component that mounts later starts with the current chat even if others have unmounted", async () => {
  const { client } = createTestClient(() => new Response(null, { status: 500 }));
  const seen: string[] = [];
  const page = (isChatOpen: boolean, row?: string[]) => (
    <GatewayProvider client={client}>
      {isChatOpen && <Chat />}
      {row && <Row seen={row} />}
    </GatewayProvider>
  );
  const say = (content: string) => act(async () => chat.setMessages([{ id: "m-1", role: "user", content }]));
  // one row unmounts before the chat exists, and one row while it exists
  const { rerender } = render(page(false, []));
  for (const [isOpen, row] of [[false], [true], [true, []], [true], [true, []]] as const)
    await act(async () => rerender(page(isOpen, row && [...row])));
  await act(async () => {
    // this row unmounts before it has shown its message
    await say("Hello");
    rerender(page(true));
  });
  await act(async () => rerender(page(false)));
  await say("Bye");
  await act(async () => rerender(page(false, seen)));
  expect([...new Set(seen)]).toEqual(["Bye"]);
});

// `memo`: renders only for its message, and not with its parent
const StillRow = memo(Row);

test("Components that wait for a chat show it while it exists", async () => {
  const clock = stoppedClock();
  const { client } = createTestClient(() => new Response(null, { status: 500 }), { clock });
  const seen: string[] = [];
  const page = (isOpen: boolean) => (
    <GatewayProvider client={client}>
      <StillRow seen={seen} />
      {isOpen && <Chat />}
    </GatewayProvider>
  );
  const { rerender } = render(page(false));
  expect(seen.at(-1)).toBe("no message");
  for (const content of ["Hello", "Again"]) {
    await act(async () => rerender(page(true)));
    expect(seen.at(-1)).toBe("no message");
    await act(async () => chat.setMessages([{ id: "m-1", role: "user", content }]));
    expect(seen.at(-1)).toBe(content);
    await act(async () => rerender(page(false)));
    await act(() => clock.advance(5 * 60_000));
    expect(seen.at(-1)).toBe("no message");
  }
});

function Named({ id, seen }: { id: string; seen: string[] }) {
  chat = useChatStream({ id, model: "delta-5.3" });
  const texts = chat.messages.map(({ content }) => content).join();
  useLayoutEffect(() => void seen.push(`${id}: ${texts}`));
  return null;
}

test("A component that switches to another chat never shows the messages of the previous one", async () => {
  const { client } = createTestClient(() => new Response(null, { status: 500 }));
  const seen: string[] = [];
  const page = (id: string) => (
    <GatewayProvider client={client}>
      <Named id={id} seen={seen} />
    </GatewayProvider>
  );
  const { rerender } = render(page("a"));
  for (const content of ["Hello", "Hello?"])
    await act(async () => chat.setMessages([{ id: "m-1", role: "user", content }]));
  await act(async () => rerender(page("b")));
  expect(seen.filter((shown) => shown.startsWith("b")).filter((shown) => shown !== "b: ")).toEqual([]);
  await act(async () => rerender(page("a")));
  expect(seen.at(-1)).toBe("a: Hello?");
});
