// @vitest-environment node
import { GatewayProvider, useChatStream } from "@sluice/react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";

function Chat({ greeting }: { greeting: string }) {
  const initialMessages = [{ id: "1", role: "assistant" as const, content: greeting }];
  const { messages } = useChatStream({ id: "support", model: "delta-5.3", initialMessages });
  return <p>{messages.map(({ content }) => content)}</p>;
}

test("on a server no chat is shared: one visitor's messages are never another's", () => {
  const { client, requests } = clientOf(() => new Response());
  const page = (greeting: string) =>
    renderToString(
      <GatewayProvider client={client}>
        <Chat greeting={greeting} />
      </GatewayProvider>,
    );
  expect(page("Welcome back, Ada")).toContain("Ada");
  expect(page("Welcome back, Grace")).toContain("Grace");
  expect(requests).toHaveLength(0);
});
