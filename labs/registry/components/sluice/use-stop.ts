import type { UseChatStreamResult } from "@sluice/react";
import { useCallback, useEffect } from "react";

/** Functions that stop the responses of this tab, by the ids of their chats. */
const stopFunctions = new Map<string, () => void>();
const channel = openChannel();

/** Opens the channel between tabs. Undefined if the browser refuses it. */
function openChannel(): BroadcastChannel | undefined {
  try {
    const opened = new BroadcastChannel("sluice/stop");
    opened.onmessage = ({ data }) => stopFunctions.get(data)?.();
    return opened;
  } catch {
    return undefined;
  }
}

/** Returns a function that stops the response of a chat, even if another tab of this browser streams it. */
export function useStop(
  id: string,
  { stop, status, isRunningElsewhere }: Pick<UseChatStreamResult, "stop" | "status" | "isRunningElsewhere">,
): () => void {
  const isBusy = status === "submitted" || status === "streaming";
  useEffect(() => {
    if (isBusy) stopFunctions.set(id, stop);
    else stopFunctions.delete(id);
  }, [id, stop, isBusy]);
  return useCallback(() => {
    if (isRunningElsewhere) channel?.postMessage(id);
    stop();
  }, [id, stop, isRunningElsewhere]);
}
