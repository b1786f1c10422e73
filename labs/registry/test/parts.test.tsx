import { createClient } from "@sluice/core";
import { definePrices } from "@sluice/prices";
import { GatewayProvider, useChatStream } from "@sluice/react";
import type { ComponentProps } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { createTestClock } from "../../../tests/support/test-clock.ts";
import { Chat } from "../components/sluice/chat.tsx";
import { describeSyncError } from "../components/sluice/devices.tsx";
import { MessageCost } from "../components/sluice/message-cost.tsx";

/* Components of the registry, as their HTML. `apps.nightly.test.ts` shows them in a browser. */

const prices = definePrices({ currency: "EUR", models: { "delta-5.3": { input: 1000, output: 2000 } } });

function shownCost(props: Partial<ComponentProps<typeof MessageCost>>): string {
  const html = renderToStaticMarkup(
    <MessageCost model="delta-5.3" prices={prices} text="" messages={[]} {...props} />,
  );
  return html.replace(/<[^>]*>/g, "");
}

test("MessageCost bounds what goes out by its bytes: the text, the thread, the instructions and each image", () => {
  const amount = (props: Partial<ComponentProps<typeof MessageCost>>) =>
    Number(/at most ([\d.]+) EUR to send/.exec(shownCost(props))?.[1]);
  const text = "Grüße ".repeat(1000);
  const bytes = new TextEncoder().encode(text).length / 1000;
  expect(amount({ text })).toBeGreaterThan(bytes);
  expect(amount({ text })).toBeLessThan(bytes * 1.01);
  expect(amount({ instructions: text })).toBe(amount({ text }));
  const message = { id: "1", role: "user", content: text } as const;
  expect(amount({ messages: [message] })).toBeCloseTo(amount({ text }), 0);
  // a picture counts by its number, not by its length
  const image = `data:image/png;base64,${"A".repeat(100_000)}`;
  expect(amount({ messages: [{ ...message, content: "", images: [image] }] })).toBeCloseTo(10, 0);
  expect(amount({ images: 2 })).toBeCloseTo(20, 0);
});

test("MessageCost says what the answer costs: at most, by 1,000 tokens, or with tools", () => {
  expect(shownCost({})).toMatch(/^Cost: at most [\d.]+ EUR to send, 2 EUR for 1,000 tokens of the answer$/);
  expect(shownCost({ maxTokens: 500 })).toMatch(/ to send, at most 1 EUR for the answer$/);
  expect(shownCost({ maxTokens: 500, hasTools: true })).toMatch(
    /^Cost: [\d.]+ EUR to send, more with tools, 2 EUR for 1,000 tokens of the answer$/,
  );
});

test("MessageCost says nothing of a model without prices", () => {
  expect(shownCost({ model: "gamma-chat-1-6-251015" })).toBe("");
});

test("Chat takes words of its own", () => {
  const client = createClient({ baseURL: "https://gateway.example.com", clock: createTestClock() });
  function Page() {
    const chat = useChatStream({ id: "a", model: "delta-5.3" });
    return <Chat chat={chat} id="a" model="delta-5.3" words={{ messages: "Nachrichten" }} />;
  }
  const html = renderToStaticMarkup(
    <GatewayProvider client={client}>
      <Page />
    </GatewayProvider>,
  );
  expect(html).toContain('aria-label="Nachrichten"');
});

test("An error of a chat on several devices has its own words, and any other those of describeError", () => {
  const refused = (code: string) => describeSyncError(Object.assign(new Error("no"), { code })).title;
  expect(["quota_exceeded", "record_too_large", "signed_out"].map(refused)).toEqual([
    "No room at the server",
    "Too large to share",
    "Signed out",
  ]);
  expect(describeSyncError(new Error("no")).title).toBe("Something went wrong");
});
