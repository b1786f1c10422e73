/** A named channel between the tabs of an origin. It does nothing if `BroadcastChannel` is missing or refused. */
export interface TabChannel<Message> {
  /** Posts to all other tabs. */
  readonly post: (message: Message) => void;
  readonly close: () => void;
}

/**
 * Opens a channel. `onMessage` gets only messages of other tabs. Never throws.
 *
 * @param onRefusal gets the error if the browser refuses the channel or a message
 */
export function openTabChannel<Message>(
  name: string,
  onMessage: (message: Message) => void,
  onRefusal: (error: unknown) => void,
): TabChannel<Message> {
  let channel: BroadcastChannel | undefined;
  try {
    if (typeof BroadcastChannel !== "undefined") channel = new BroadcastChannel(name);
  } catch (error) {
    onRefusal(error);
  }
  channel?.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    // any script of the origin may post anything
    if (typeof data === "object" && data !== null) onMessage(data);
  });
  return {
    post(message) {
      try {
        channel?.postMessage(message);
      } catch (error) {
        onRefusal(error);
      }
    },
    close: () => channel?.close(),
  };
}
