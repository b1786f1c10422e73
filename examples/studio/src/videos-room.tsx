import { useStore } from "@nanostores/react";
import type { VideoModel } from "@sluice/core";
import { checkRequest } from "@sluice/core/schemas";
import { estimateCost } from "@sluice/prices";
import { useVideoTask, useVideoTasks, type VideoTaskEntry } from "@sluice/react";
import { useRef, useState } from "react";
import { listURLs } from "@/components/sluice/form-fields";
import {
  createItemId,
  createStoredList,
  isStoredItem,
  type StoredItem,
} from "@/components/sluice/stored-list";
import { toast, UNDO_MS } from "@/components/sluice/toasts";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { type MediaDraft, useMediaForm } from "@/components/sluice/use-media-form";
import { createVideoForm, createVideoRequest } from "@/components/sluice/video-form";
import { estimateTime, getVideoState } from "@/components/sluice/video-progress";
import { VideoTaskCard } from "@/components/sluice/video-task-card";
import { baseURL, storage } from "./client.js";
import { MediaPage } from "./media.js";
import { prices } from "./prices.js";
import { isOffline, useRunningCode } from "./state.js";

const options = { storage, intervalMs: 4000 } as const;

/** A form that was sent. The library stores the task. The order stores the rest of its card. */
interface Order extends StoredItem, MediaDraft<VideoModel> {
  readonly label: string;
}

const list = createStoredList<Order>({
  storage,
  name: "video-orders",
  isItem: (record): record is Order => isStoredItem(record, "label", "model") && "values" in record,
});

/** The room for videos. Each video is a task that continues at the gateway while the page is closed. */
export function VideosRoom() {
  const form = useVideoForm();
  const { model, values } = form;
  const request = createVideoRequest(model, values);
  const { create, reset, phase, error } = useVideoTask(options);
  const { tasks, remove } = useVideoTasks(options);
  const orders = list.useItems();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const button = useRef<HTMLButtonElement>(null);
  const isCreating = phase === "uploading" || phase === "creating";
  const shown = tasks.filter(({ key }) => !hidden.has(key));
  useLeaveWarning(isCreating);
  useRunningCode(isCreating ? "await create(" : shown.some(isRunning) && "useVideoTasks(options)");

  const send = async (draft: MediaDraft<VideoModel>) => {
    const order = createOrder(draft);
    list.put(order);
    const { handle } = await create(createVideoRequest(draft.model, draft.values), { label: order.label });
    // the list shows the task from here on; the form is free for the next task
    if (handle) reset();
  };
  const hide = (key: string) => {
    setHidden((before) => new Set([...before, key]));
    // a removed task can't come back, so remove it once "Undo" is gone
    const timer = setTimeout(() => remove(key), UNDO_MS);
    toast("Video deleted", {
      onUndo() {
        clearTimeout(timer);
        setHidden((before) => new Set([...before].filter((one) => one !== key)));
      },
    });
    button.current?.focus();
  };

  return (
    <MediaPage
      title="Videos"
      result="a video"
      form={form}
      onSend={() => void send({ model, values })}
      isBusy={isCreating}
      estimate={estimateCost(request, prices)}
      // the card of a task that may exist shows its error
      error={error && "billing" in error && error.billing === "maybe" ? undefined : error}
      onDismiss={reset}
      button={button}
      isEmpty={shown.length === 0}
      createValues={({ prompt, ratio }) => ({ prompt, ratio })}
    >
      <ul
        aria-label="Videos"
        className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,20rem),1fr))] gap-4"
      >
        {shown.map((entry) => {
          const order = findOrder(entry, orders);
          return (
            <li key={entry.key}>
              <Task
                entry={entry}
                usualMs={estimateTime(entry.model, tasks)}
                poster={order && findPoster(order)}
                onReuse={order && (() => form.fill({ model: order.model, values: order.values }))}
                onRetry={
                  order &&
                  (() => {
                    remove(entry.key);
                    void send(order);
                  })
                }
                onRemove={() => hide(entry.key)}
              />
            </li>
          );
        })}
      </ul>
    </MediaPage>
  );
}

function createOrder({ model, values }: MediaDraft<VideoModel>): Order {
  const { prompt } = values;
  const label = (typeof prompt === "string" && prompt.trim()) || model;
  return { id: createItemId(), at: Date.now(), label, model, values };
}

/** The form of this room. All callers share one stored draft. */
export function useVideoForm() {
  return useMediaForm<VideoModel>({
    kind: "video",
    storage,
    initial: "beta3.0-video",
    createForm: createVideoForm,
    check({ model, values }) {
      // the check refuses the URL of a local proxy, because it is not public. The gateway beside that proxy can reach it
      const text = JSON.stringify(createVideoRequest(model, values));
      return checkRequest(JSON.parse(text.replaceAll(`${baseURL}/v1/media/`, "https://file.invalid/")))
        .issues;
    },
  });
}

function isRunning(entry: VideoTaskEntry): boolean {
  return getVideoState(entry) === "running";
}

/** Finds the form of a task: the last form of its name and model that was sent before it. `orders` is newest first. */
function findOrder(entry: VideoTaskEntry, orders: readonly Order[]): Order | undefined {
  return orders.find(
    ({ at, label, model }) => label === entry.label && model === entry.model && at <= entry.submittedAt,
  );
}

/** Returns an image to show until the video exists. */
function findPoster({ values }: Order): string | undefined {
  const [first] = [...listURLs(values, "first_frame"), ...listURLs(values, "reference_image")];
  return first && /^(?:https?|data):/.test(first) ? first : undefined;
}

type TaskProps = Pick<
  Parameters<typeof VideoTaskCard>[0],
  "entry" | "usualMs" | "poster" | "onReuse" | "onRetry" | "onRemove"
>;

function Task({ entry, ...rest }: TaskProps) {
  // the list polls running tasks; a card polls a task that the list gave up
  const taskId = getVideoState(entry) === "unknown" ? entry.handle?.id : undefined;
  const { refetch } = useVideoTask({ taskId, ...options });
  const isAway = useStore(isOffline);
  return <VideoTaskCard entry={entry} isOffline={isAway} onCheck={refetch} {...rest} />;
}
