/** Functions that stop the answers of this tab, by the ids of their chats. */
const stops = new Map<string, () => void>();
const channel = openChannel();

/** Opens the channel on which a tab asks the others; undefined where the browser refuses it. */
function openChannel(): BroadcastChannel | undefined {
  try {
    const opened = new BroadcastChannel("sluice-studio/stop");
    opened.onmessage = ({ data }) => stops.get(data)?.();
    return opened;
  } catch {
    return undefined;
  }
}

/** Lets other tabs stop the answer of a chat. Returns a function that ends that. */
export function letStop(chat: string, stop: () => void): () => void {
  stops.set(chat, stop);
  return () => void stops.delete(chat);
}

/** Asks the tab that answers in a chat to stop. */
export function askToStop(chat: string): void {
  channel?.postMessage(chat);
}
