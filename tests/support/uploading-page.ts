import { createClient } from "@sluice/core";
import { uploads } from "@sluice/media";
import { createVideoTaskList, createVideoTaskStore, indexedDBStorage } from "@sluice/stores";

/** Functions of the page that the test calls. */
export interface VideoPage {
  /** Makes a video with a file of this size as a reference; resolves to the error's message, or nothing. */
  readonly make: (bytes: number) => Promise<string | undefined>;
  readonly progress: () => number | undefined;
  readonly taskState: () => string | undefined;
}

const client = createClient({
  baseURL: location.origin,
  headers: { authorization: "user-1" },
  uploads: uploads({ check: false }),
});
const storage = indexedDBStorage();
const video = createVideoTaskStore(client, { storage });
const list = createVideoTaskList(client, { storage });
const player = document.createElement("video");
document.body.append(player);
video.subscribe(() => {});
list.subscribe(() => {
  const [entry] = list.getSnapshot();
  const { task } = entry ?? {};
  if (task?.state === "succeeded" && player.src !== task.url) player.src = task.url;
});

/** Creates a video in pieces. Its bytes count up, so that a lost part is noticed. */
function readFile(bytes: number): File {
  const piece = Uint8Array.from({ length: 1_048_576 }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
  const start = new Uint8Array([0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d]);
  const pieces = Array.from({ length: bytes / piece.length }, (_, at) =>
    at === 0 ? new Blob([start, piece.subarray(start.length)]) : piece,
  );
  return new File(pieces, "reef.mp4");
}

async function make(bytes: number): Promise<string | undefined> {
  const media = [{ type: "reference_video", url: readFile(bytes) }] as const;
  const { error } = await video.create({
    model: "beta3.0-video",
    input: { prompt: "Video 1 by night", media },
  });
  return error?.message;
}

Object.assign(globalThis, {
  page: {
    make,
    progress: () => {
      const { phase, progress } = video.getSnapshot();
      return phase === "uploading" ? progress : undefined;
    },
    taskState: () => video.getSnapshot().task?.state,
  } satisfies VideoPage,
});
