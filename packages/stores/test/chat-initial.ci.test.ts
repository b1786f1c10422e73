import { expect, test } from "vitest";
import { streamText } from "../../core/test/support/reply-streams.js";
import { createChat } from "./support/chat.js";

test("40,000 initial messages are read in linear time", () => {
  const messages = Array.from({ length: 40_000 }, (_, index) => ({
    role: index % 2 ? ("assistant" as const) : ("user" as const),
    content: `message ${index}`,
  }));
  const { chat } = createChat([streamText("Hello")], { initialMessages: messages });
  chat.setMessages(messages);
  expect(chat.getSnapshot().messages).toHaveLength(messages.length);
});
