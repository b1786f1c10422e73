import { type Client, createVideoTaskList, type VideoTaskStoreOptions } from "@sluice/core";

/** Words of a notification in the page; a push has those of the service worker. */
export type NotificationWords = Readonly<Record<"succeeded" | "failed", string>>;

/**
 * Shows a notification when a task ends while this page is hidden. All open tasks are polled in the background for it.
 *
 * @returns a function that stops it
 */
export function openFallback(
  client: Client,
  storage: VideoTaskStoreOptions["storage"],
  words: () => NotificationWords,
): () => void {
  const list = createVideoTaskList(client, { storage, pollInBackground: true });
  const open = new Set<string>();
  const end = list.subscribe(look);
  // a list that is shown already has tasks whose next change may be their end
  look();
  return end;

  function look(): void {
    for (const { key, label, task } of list.getSnapshot()) {
      const state = task?.state;
      const isOver = state === "succeeded" || state === "failed";
      if (!isOver) open.add(key);
      else if (open.delete(key) && document.visibilityState === "hidden")
        show(words()[state], label ?? "", key);
    }
  }
}

function show(title: string, body: string, tag: string): void {
  // the same tag in two tabs is one notification
  const notification = new Notification(title, { body, tag });
  notification.onclick = () => {
    window.focus();
    notification.close();
  };
}
