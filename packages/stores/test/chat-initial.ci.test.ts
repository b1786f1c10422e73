import { expect, test } from "vitest";
import { textAnswer } from "../../core/test/support/answers.js";
import { createChat } from "./support/chat.js";

test("40,000 initial messages are read in linear time", () => {
  const messages = Array.from({ length: 40_000 }, (_, index) => ({
    role: index % 2 ? ("assistant" as const) : ("user" as const),
    content: `message ${index}`,
  }));
  const { chat } = createChat([textAnswer("Hello")], { initialMessages: messages });
  chat.setMessages(messages);
  expect(chat.getSnapshot().messages).toHaveLength(messages.length);
});
