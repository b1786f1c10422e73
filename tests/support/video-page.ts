import { createClient } from "@sluice/core";
import {
  createVideoTaskList,
  createVideoTaskStore,
  indexedDBStorage,
  type VideoTaskEntry,
  type VideoTaskState,
} from "@sluice/stores";

/** Functions of the page that tests call. */
export interface VideoPage {
  readonly state: () => VideoTaskState;
  readonly tasks: () => readonly VideoTaskEntry[];
  readonly attach: (id: string) => void;
}

/** Interval of the page's polls, plus or minus a tenth. */
const INTERVAL_MS = 150;

// each request has its name, so that the gateway's log shows which page sent it
const name = new URL(location.href).searchParams.get("name") ?? "";
const client = createClient({ baseURL: location.origin, headers: { "x-page": name } });
const storage = indexedDBStorage();
const options = { storage, intervalMs: INTERVAL_MS };
const video = createVideoTaskStore(client, options);
const list = createVideoTaskList(client, options);
video.subscribe(() => {});
list.subscribe(() => {});

const button = document.createElement("button");
button.textContent = "Make a video";
button.onclick = () => void video.create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
document.body.append(button);

Object.assign(globalThis, {
  page: {
    state: video.getSnapshot,
    tasks: list.getSnapshot,
    attach: video.attach,
  } satisfies VideoPage,
});
