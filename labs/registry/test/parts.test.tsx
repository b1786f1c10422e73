import { createClient } from "@sluice/core";
import { GatewayProvider, useChatStream } from "@sluice/react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { createTestClock } from "../../../tests/support/test-clock.ts";
import { Chat } from "../components/sluice/chat.tsx";
import { describeSyncError } from "../components/sluice/devices.tsx";

/* Components of the registry, as their HTML. `apps.nightly.test.ts` shows them in a browser. */

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
