"use client";

import { Tooltips } from "@/components/sluice/tooltips";
import { ChatRoom } from "./chat-room";

/** The whole app. */
export function Rooms() {
  return (
    <main className="flex h-dvh flex-col">
      <h1 className="sr-only">Chat</h1>
      <ChatRoom />
      <Tooltips />
    </main>
  );
}
