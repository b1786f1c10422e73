// @vitest-environment node
import { GatewayProvider, useChatStream } from "@sluice/react";
import { GlobalWindow } from "happy-dom";
import { act } from "react";
import { expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";

/* A test runner without a document of its own: the page is made after the hooks were loaded. */

let chat: ReturnType<typeof useChatStream>;

function Chat() {
  chat = useChatStream({ id: "a", model: "delta-5.3" });
  return <p>{chat.messages.map(({ content }) => content).join(", ")}</p>;
}

/** Timers that keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

test("A chat in a document created after the hooks were loaded keeps its messages, and lets its process end", async () => {
  expect(typeof window).toBe("undefined");
  const page = new GlobalWindow();
  Object.assign(globalThis, { window: page, document: page.document, IS_REACT_ACT_ENVIRONMENT: true });
  try {
    const { createRoot } = await import("react-dom/client");
    const container = document.body.appendChild(document.createElement("div"));
    const root = createRoot(container);
    const { client } = createTestClient(() => new Response());
    await act(async () =>
      root.render(
        <GatewayProvider client={client}>
          <Chat />
        </GatewayProvider>,
      ),
    );
    await act(async () => chat.setMessages([{ role: "user", content: "Hello" }]));
    expect(container.textContent).toBe("Hello");
    const before = timers();
    await act(async () => root.unmount());
    expect(timers()).toBeLessThanOrEqual(before);
  } finally {
    for (const name of ["window", "document"]) Reflect.deleteProperty(globalThis, name);
  }
});
