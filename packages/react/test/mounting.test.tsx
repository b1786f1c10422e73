import { GatewayProvider, useChatMessage, useChatStream } from "@sluice/react";
import { act, render } from "@testing-library/react";
import { useLayoutEffect } from "react";
import { expect, test } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";

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

test("A component that is mounted later begins with the chat of then, not with that of the mount before", async () => {
  const { client } = clientOf(() => new Response(null, { status: 500 }));
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
