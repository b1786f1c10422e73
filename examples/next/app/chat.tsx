"use client";

import { useChatStream } from "@sluice/react";

export function Chat({ greeting }: { greeting: string }) {
  const { messages, send } = useChatStream({
    id: "support",
    model: "delta-5.3",
    initialMessages: [{ id: "greeting", role: "assistant", content: greeting }],
  });
  return (
    <section>
      {messages.map(({ id, role, content }) => (
        <p key={id}>
          <b>{role}</b> {content}
        </p>
      ))}
      <button type="button" onClick={() => send("Hello")}>
        Say hello
      </button>
    </section>
  );
}
