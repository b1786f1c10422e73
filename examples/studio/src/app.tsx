import { Chat } from "./chat/chat.js";

/** The rooms of the studio; the chat is the first. */
export function App() {
  return <Chat />;
}
